#!/bin/sh
# One turn of a stand-in for an agent, in a HOME that is thrown away: a formatter runs after an edit, a notifier is
# misspelt, and its failure is a line on the display and in the log, and nothing else.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --release --bin bravebot-hooks
hooks=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/bravebot-hooks

# The tools of Rust are found where they are.
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT
umask 022
mkdir "$HOME/.bravebot" "$HOME/project"
cat > "$HOME/.bravebot/hooks.json" <<'JSON'
{"hooks": [
  {"on": "tool-finished", "tool": "write_file", "run": ["rustfmt", "main.rs"], "timeout": 10},
  {"on": "turn-finished", "run": ["notify-sendd", "The agent is done"]}
]}
JSON
cat > "$HOME/agent" <<AGENT
#!/bin/sh
echo "agent: writing main.rs"
printf 'fn main(){let greeting="hello";println!("{greeting}")}\n' > main.rs
"$hooks" fire tool-finished --tool write_file
echo "agent: done"
exit 7
AGENT
chmod +x "$HOME/agent"
cd "$HOME/project"

echo "~/.bravebot/hooks.json:"; sed 's/^/    /' "$HOME/.bravebot/hooks.json"
echo; echo "\$ bravebot-hooks turn -- agent"
status=0; "$hooks" turn -- "$HOME/agent" || status=$?
echo; echo "the status is the agent's own: $status"
echo; echo "main.rs, which the agent wrote in one line and a hook has formatted:"; sed 's/^/    /' main.rs
echo; echo "~/.bravebot/hooks.log:"; sed 's/^/    /' "$HOME/.bravebot/hooks.log"
