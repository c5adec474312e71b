-- The configuration of a private Prosody for tests: only loopback, all data in one directory.
daemonize = false
run_as_root = true
pidfile = "@DIRECTORY@/prosody.pid"
data_path = "@DIRECTORY@/data"
certificates = "@DIRECTORY@"
plugin_paths = { "@DIRECTORY@/modules" }
log = { { levels = { min = "info" }, to = "console" } }

interfaces = { "127.0.0.1" }
c2s_ports = { @PORT@ }
c2s_direct_tls_ports = { @DIRECT_TLS_PORT@ }
component_ports = { @COMPONENT_PORTS@ }
c2s_require_encryption = true
s2s_ports = {}
http_ports = {}
https_ports = {}
allow_registration = @REGISTRATION@

modules_enabled = {
  "roster"; "saslauth"; "tls"; "disco"; "carbons"; "pep"; "private"; "blocklist"; "vcard4"; "vcard_legacy";
  "version"; "uptime"; "time"; "ping"; "mam"; "csi_simple"; "smacks"; "groups"; "bookmarks"; "register";
  @MODULES@
}
modules_disabled = { "s2s"; "offline_s2s"; @DISABLED@ }
groups_file = "@DIRECTORY@/groups.txt"
authentication = "@AUTHENTICATION@"
password_hash = "@PASSWORD_HASH@"

ssl = @TLS@
c2s_direct_tls_ssl = @TLS@
test_directory = "@DIRECTORY@"
@MORE@
@LINES@

VirtualHost "@DOMAIN@"
modules_enabled = { "test_started" }
@HOST_LINES@
