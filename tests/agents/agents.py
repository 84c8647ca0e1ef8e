"""The eight agents: how each is run once against a mock model, and what is expected of it.

What is here is only what a test needs besides the snippet: the model's address, a dummy key, no dialogs. The hooks come
from docs/agents.md alone.
"""
from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass
from typing import Callable

from mock import ANSWER, Call
from sandbox import CANARIES, Sandbox

PROMPT = "write, run and read"


@dataclass(frozen=True)
class Agent:
    name: str
    title: str                                           # of its section in the document
    package: str
    version: str
    prepare: Callable[[Sandbox, int], None]              # settings and environment, for a model at this port
    argv: Callable[[str], list[str]]                     # of a one-shot run, for the path of its program
    calls: Callable[[pathlib.Path], list[Call]]          # write a file, run a command, something else
    failing: Callable[[pathlib.Path], list[Call]]        # a command that ends with 3, a tool that finds nothing
    answer: str = ANSWER
    session: Callable[[str], list[str]] | None = None    # where its hooks are for a session alone: how one is started
    typed: str = ""                                      # in a session
    turns_alone: bool = False                            # it has no hook for a tool, and none for the start of a turn
    instead: str = ""                                    # which other snippet, for turn-finished, the document has
    in_order: bool = True                                # False where it waits for its hooks at no or not every moment
    leaves: tuple[str, ...] = ()                         # what it leaves running itself, hooks or not


def settings(sandbox: Sandbox, path: str, value: object) -> None:
    sandbox.write(path, json.dumps(value))


def prepare_claude(sandbox: Sandbox, port: int) -> None:
    sandbox.env.update({
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0"})


def prepare_codex(sandbox: Sandbox, port: int) -> None:
    sandbox.write("~/.codex/config.toml", f'''model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
''')


def prepare_gemini(sandbox: Sandbox, port: int) -> None:
    sandbox.env["GOOGLE_GEMINI_BASE_URL"] = f"http://127.0.0.1:{port}"
    settings(sandbox, "~/.gemini/settings.json", {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False}, "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}})
    settings(sandbox, "~/.gemini/trustedFolders.json", {str(sandbox.project): "TRUST_FOLDER"})


def prepare_qwen(sandbox: Sandbox, port: int) -> None:
    sandbox.env.update({"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_MODEL": "mock-model"})
    settings(sandbox, "~/.qwen/settings.json", {
        "security": {"auth": {"selectedType": "openai"}}, "model": {"name": "mock-model"},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False}})


def prepare_copilot(sandbox: Sandbox, port: int) -> None:
    sandbox.env.update({
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1", "COPILOT_MODEL": "mock-model",
        "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"})


def prepare_opencode(sandbox: Sandbox, port: int) -> None:
    # It installs a package beside a plugin, and waits long for a registry that is silent; the mock says 404 at once.
    sandbox.env.update({"npm_config_registry": f"http://127.0.0.1:{port}/npm/", "npm_config_fetch_retries": "0"})
    sandbox.env.update({f"OPENCODE_DISABLE_{what}": "1" for what in (
        "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE", "DEFAULT_PLUGINS")})
    model = {"name": "Mock", "tool_call": True, "limit": {"context": 100000, "output": 4096}}
    settings(sandbox, "~/.config/opencode/opencode.json", {
        "model": "mock/mock-model", "small_model": "mock/mock-model", "autoupdate": False, "share": "disabled",
        "permission": {"*": "allow"}, "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "Mock", "models": {"mock-model": model},
            "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": CANARIES["OPENCODE_API_KEY"]}}}})


def prepare_cline(sandbox: Sandbox, port: int) -> None:
    sandbox.env.update({"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"})
    settings(sandbox, "~/.cline/data/settings/providers.json", {
        "version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {
            "settings": {"provider": "openai-compatible", "apiKey": CANARIES["CLINE_API_KEY"], "model": "mock-model",
                         "baseUrl": f"http://127.0.0.1:{port}/v1"},
            "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}})


def prepare_aider(sandbox: Sandbox, port: int) -> None:
    sandbox.env.update({"OPENAI_API_BASE": f"http://127.0.0.1:{port}/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"})


def aider(program: str) -> list[str]:
    return [program, "--model", "openai/mock-model", "--no-show-model-warnings", "--edit-format", "whole", "--no-git",
            "--no-check-update", "--analytics-disable", "--no-show-release-notes", "--map-tokens", "0",
            "--no-detect-urls", "--yes-always"]


PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n"

AGENTS = [
    Agent(
        "claude", "Claude Code", "@anthropic-ai/claude-code", "2.1.332", prepare_claude,
        argv=lambda program: [program, "-p", "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions", PROMPT],
        calls=lambda project: [
            Call("Write", {"file_path": str(project / "made.txt"), "content": "made\n"}),
            Call("Bash", {"command": "echo ran > ran.txt", "description": "run"}),
            Call("Read", {"file_path": str(project / "notes.txt")})],
        failing=lambda project: [
            Call("Bash", {"command": "exit 3", "description": "fail"}),
            Call("Read", {"file_path": str(project / "absent.txt")})]),
    Agent(
        "codex", "Codex CLI", "@openai/codex", "0.171.0", prepare_codex, instead=" instead",
        argv=lambda program: [program, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", PROMPT],
        calls=lambda project: [
            Call("apply_patch", PATCH, raw=True),
            Call("exec_command", {"cmd": "echo ran > ran.txt"}),
            Call("get_goal", {})],
        failing=lambda project: [Call("exec_command", {"cmd": "exit 3"}), Call("view_image", {"path": "absent.png"})]),
    Agent(
        "gemini", "Gemini CLI", "@google/gemini-cli", "0.61.0", prepare_gemini,
        argv=lambda program: [program, "--yolo", "-m", "gemini-2.5-flash", "-p", PROMPT],
        calls=lambda project: [
            Call("write_file", {"file_path": str(project / "made.txt"), "content": "made\n"}),
            Call("run_shell_command", {"command": "echo ran > ran.txt", "description": "run"}),
            Call("read_file", {"file_path": str(project / "notes.txt")})],
        failing=lambda project: [
            Call("run_shell_command", {"command": "exit 3", "description": "fail"}),
            Call("read_file", {"file_path": str(project / "absent.txt")})]),
    Agent(
        "qwen", "Qwen Code", "@qwen-code/qwen-code", "0.24.4", prepare_qwen,
        argv=lambda program: [program, "--yolo", PROMPT],
        calls=lambda project: [
            Call("write_file", {"file_path": str(project / "made.txt"), "content": "made\n"}),
            Call("run_shell_command", {"command": "echo ran > ran.txt", "description": "run", "is_background": False}),
            Call("read_file", {"file_path": str(project / "notes.txt")})],
        failing=lambda project: [
            Call("run_shell_command", {"command": "exit 3", "description": "fail", "is_background": False}),
            Call("read_file", {"file_path": str(project / "absent.txt")})]),
    Agent(
        "copilot", "GitHub Copilot CLI", "@github/copilot", "1.0.102", prepare_copilot,
        argv=lambda program: [program, "-p", PROMPT, "--allow-all"],
        calls=lambda project: [
            Call("create", {"path": str(project / "made.txt"), "file_text": "made\n"}),
            Call("bash", {"command": "echo ran > ran.txt", "description": "run", "mode": "sync"}),
            Call("view", {"path": str(project / "notes.txt")})],
        failing=lambda project: [
            Call("bash", {"command": "exit 3", "description": "fail", "mode": "sync"}),
            Call("view", {"path": str(project / "absent.txt")})]),
    Agent(
        "opencode", "opencode", "opencode-ai", "1.18.33", prepare_opencode, in_order=False,
        argv=lambda program: [program, "run", "--model", "mock/mock-model", PROMPT],
        calls=lambda project: [
            Call("write", {"filePath": str(project / "made.txt"), "content": "made\n"}),
            Call("bash", {"command": "echo ran > ran.txt", "description": "run"}),
            Call("read", {"filePath": str(project / "notes.txt")})],
        failing=lambda project: [
            Call("bash", {"command": "exit 3", "description": "fail"}),
            Call("read", {"filePath": str(project / "absent.txt")})]),
    Agent(
        "cline", "Cline CLI", "cline", "3.0.65", prepare_cline, in_order=False, leaves=("--cline-hub-daemon",),
        argv=lambda program: [program, "-P", "openai-compatible", "-m", "mock-model", PROMPT],
        calls=lambda project: [
            Call("editor", {"path": str(project / "made.txt"), "new_text": "made\n"}),
            Call("run_commands", {"commands": ["echo ran > ran.txt"]}),
            Call("read_files", {"files": [{"path": str(project / "notes.txt")}]})],
        failing=lambda project: [
            Call("run_commands", {"commands": ["exit 3"]}),
            Call("read_files", {"files": [{"path": str(project / "absent.txt")}]})]),
    Agent(
        "aider", "aider", "aider-chat", "0.86.2", prepare_aider,
        argv=lambda program: [*aider(program), "--message", PROMPT], session=aider, typed=f"{PROMPT}\n/exit\n",
        calls=lambda project: [], failing=lambda project: [], turns_alone=True),
]
