#!/bin/bash
# Logs in, changes presence and logs out on a private Prosody, while another client (slixmpp) watches.
# All files are in a temporary directory, and all connections are on loopback; your own accounts are not used.
set -euo pipefail
cd "$(dirname "$0")/.."

imctl_path=${IMCTL_EXECUTABLE:-$PWD/.build/release/imctl}
[ -x "$imctl_path" ] || { echo "demo: build imctl first: make build" >&2; exit 69; }

home=$(mktemp -d /tmp/imctl-demo-XXXXXX)
export HOME=$home XDG_CONFIG_HOME=$home/.config XDG_STATE_HOME=$home/.local/state
unset XDG_RUNTIME_DIR

finish() {
  status=$?
  trap - EXIT
  "$imctl_path" agent stop >/dev/null 2>&1 || true
  # The scripts end at the end of their input, together with everything that they have started.
  for input in "${bob_in:-}" "${server_in:-}"; do [ -z "$input" ] || exec {input}>&-; done
  wait 2>/dev/null || true
  rm -rf "$home"
  [ $status -eq 0 ] || echo "demo: failed" >&2
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -t 1 ]; then bold=$(tput bold 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true); else bold='' plain=''; fi
note() { printf '\n# %s\n' "$*"; }
# Prints a command like a terminal, and runs it.
show() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; eval "$*"; }
imctl() { "$imctl_path" "$@"; }
field() { /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# Waits until bob receives a presence that contains these words, and prints it.
bob_sees() {
  local line word
  while read -r -t 20 line <&"$bob_out"; do
    for word in '"presence"' '"from": "alice@im.example/' "$@"; do [[ $line == *"$word"* ]] || continue 2; done
    /usr/bin/python3 -c '
import json, sys
seen = json.load(sys.stdin)["presence"]
print("  bob sees:", seen["from"], *(seen[name] for name in ("type", "show", "status") if seen[name]))' <<<"$line"
    return
  done
  echo "bob did not see: $*" >&2
  return 1
}

note "A private Prosody on loopback, with a certificate of its own"
coproc server { exec /usr/bin/python3 -u Tests/Servers/serve.py 2>"$home/server.log"; }
server_in=${server[1]} server_out=${server[0]}
echo '{"kind": "prosody", "domain": "im.example", "accounts": {"alice": "secret", "bob": "hidden"}}' >&"$server_in"
read -r -t 60 ready <&"$server_out" || { cat "$home/server.log" >&2; exit 69; }
port=$(field port <<<"$ready")
ca=$(field caFile <<<"$ready")
cp "$ca" "$home/ca.pem"
echo "  im.example is at 127.0.0.1:$port"

note "Bob, a friend of Alice's, is online with another program (slixmpp)"
mkfifo "$home/bob.in" "$home/bob.out"
/usr/bin/python3 -u Tests/Servers/counterpart.py <"$home/bob.in" >"$home/bob.out" 2>"$home/bob.log" &
exec {bob_in}>"$home/bob.in" {bob_out}<"$home/bob.out"
echo "{\"jid\": \"bob@im.example\", \"password\": \"hidden\", \"host\": \"127.0.0.1\", \"port\": $port,
  \"caFile\": \"$ca\"}" | tr -d '\n' >&"$bob_in"
echo >&"$bob_in"
until [[ ${line:-} == *'"ready"'* ]]; do
  read -r -t 60 line <&"$bob_out" || { cat "$home/bob.log" >&2; exit 69; }
done
echo "  bob is online"

note "Log in, once"
cd "$home"
show "printf secret | imctl login alice@im.example --password-stdin --host 127.0.0.1 --port $port --ca-file ca.pem"
bob_sees '"type": "available"'
show "imctl status"
show "imctl whoami"

note "Every later command takes milliseconds: the agent keeps the session"
show "imctl presence away lunch"
bob_sees '"show": "away"' '"status": "lunch"'
show "imctl presence"

note "Held while a command runs, put back afterwards"
show "imctl presence dnd building -- sleep 1"
bob_sees '"show": "dnd"' '"status": "building"'
bob_sees '"show": "away"' '"status": "lunch"'

note "Log out"
show "imctl logout"
bob_sees '"type": "unavailable"'
show "imctl status || echo exit status \$?"
echo
echo "Done."
