"""A model on 127.0.0.1 that does as a script says, in the four dialects that the agents speak.

It knows nothing of hooks. The answer depends on the request alone: as many tool results as it holds, so many steps of
the script are done. A request that is sent twice gets the same answer, and one that offers no tools gets text.
"""
from __future__ import annotations

import http.server
import json
import threading
from dataclasses import dataclass, field
from typing import Any, Callable

ANSWER = "the-turn-is-done"


@dataclass(frozen=True)
class Call:
    """A tool call, by the agent's own name. `raw` is for tools whose argument is text, not an object."""
    tool: str
    arguments: Any
    raw: bool = False


@dataclass
class Script:
    """What the model does: the calls, one a step, and then the answer; or it fails, or never answers."""
    calls: list[Call] = field(default_factory=list)
    answer: str = ANSWER
    status: int = 200
    hangs: bool = False


Reply = tuple[str, bytes]


def events(*items: Any) -> Reply:
    lines = []
    for item in items:
        if isinstance(item, dict) and "type" in item:
            lines.append(f"event: {item['type']}\n")
        lines.append(f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n")
    return "text/event-stream", "".join(lines).encode()


def parts_of(messages: Any, key: str) -> list[Any]:
    """All parts of all messages; a message whose content is one text has none."""
    return [part for message in messages or [] if isinstance(message.get(key), list) for part in message[key]]


def anthropic(body: dict[str, Any], script: Script) -> Reply:
    done = sum(part.get("type") == "tool_result" for part in parts_of(body.get("messages"), "content"))
    call = next_call(body, script, done)
    if call:
        start: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{done}", "name": call.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    else:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": script.answer}
    message = {"id": f"msg_{done}", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn"},
         "usage": {"output_tokens": 1}},
        {"type": "message_stop"})


def responses(body: dict[str, Any], script: Script) -> Reply:
    done = sum(str(item.get("type", "")).endswith("_call_output") for item in body.get("input") or [])
    call = next_call(body, script, done)
    if call is None:
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"msg_{done}",
                                "content": [{"type": "output_text", "text": script.answer, "annotations": []}]}
    elif call.raw:
        item = {"type": "custom_tool_call", "id": f"ctc_{done}", "call_id": f"call_{done}", "name": call.tool,
                "input": call.arguments}
    else:
        item = {"type": "function_call", "id": f"fc_{done}", "call_id": f"call_{done}", "name": call.tool,
                "arguments": json.dumps(call.arguments)}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
             "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": f"resp_{done}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"resp_{done}", "usage": usage}})


def gemini(body: dict[str, Any], script: Script) -> Reply:
    done = sum("functionResponse" in part for part in parts_of(body.get("contents"), "parts"))
    call = next_call(body, script, done)
    part = {"functionCall": {"name": call.tool, "args": call.arguments}} if call else {"text": script.answer}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return events(json.dumps({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1,
                                                                          "candidatesTokenCount": 1}}))


def chat(body: dict[str, Any], script: Script) -> Reply:
    done = sum(message.get("role") == "tool" for message in body.get("messages") or [])
    call = next_call(body, script, done)
    message: dict[str, Any] = {"role": "assistant", "content": None if call else script.answer}
    if call:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        message["tool_calls"] = [{"index": 0, "id": f"call_{done}", "type": "function", "function": function}]
    finish = "tool_calls" if call else "stop"
    common = {"id": f"chatcmpl-{done}", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", json.dumps(whole).encode()
    chunks = [{**common, "object": "chat.completion.chunk",
               "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
              for delta, reason in ((message, None), ({}, finish))]
    return events(chunks[0], {**chunks[1], "usage": usage}, "[DONE]")


def next_call(body: dict[str, Any], script: Script, done: int) -> Call | None:
    return script.calls[done] if body.get("tools") and done < len(script.calls) else None


# The end of the path that a model is asked at, and what answers there.
DIALECTS: dict[str, Callable[[dict[str, Any], Script], Reply]] = {
    "/v1/messages": anthropic, "/v1/responses": responses, "/chat/completions": chat,
    ":streamGenerateContent": gemini,
}


class Mock:
    """The server. `bodies` is what reached the model, in order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.asked = threading.Event()
        self.over = threading.Event()
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

            def answer(self) -> None:
                data = self.whole_body()
                dialect = next((answers for end, answers in DIALECTS.items()
                                if self.path.split("?")[0].endswith(end)), None)
                if dialect is None or self.command != "POST":
                    self.send(404, "application/json", b'{"error":{"message":"nothing here"}}')
                    return
                body = json.loads(data)
                mock.bodies.append(body)
                mock.asked.set()
                if mock.script.hangs:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.send_header("Connection", "close")
                    self.end_headers()
                    mock.over.wait()
                    self.close_connection = True
                elif mock.script.status != 200:
                    error = {"code": mock.script.status, "message": "refused", "status": "INVALID_ARGUMENT",
                             "type": "invalid_request_error"}
                    self.send(mock.script.status, "application/json",
                              json.dumps({"type": "error", "error": error}).encode())
                else:
                    self.send(200, *dialect(body, mock.script))

            def whole_body(self) -> bytes:
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return data

            def send(self, status: int, kind: str, data: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """An agent that goes away while it is answered is no fault."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
