-- A private Prosody for tests: loopback only, all data in one directory.
daemonize = false
run_as_root = true
pidfile = "@DIRECTORY@/prosody.pid"
data_path = "@DIRECTORY@/data"
certificates = "@DIRECTORY@"
log = { { levels = { min = "info" }, to = "console" } }

interfaces = { "127.0.0.1" }
c2s_ports = { @PORT@ }
c2s_direct_tls_ports = { @DIRECT_TLS_PORT@ }
c2s_require_encryption = true
s2s_ports = {}
http_ports = {}
https_ports = {}
allow_registration = false

modules_enabled = {
  "roster"; "saslauth"; "tls"; "disco"; "carbons"; "pep"; "private"; "blocklist"; "vcard4"; "vcard_legacy";
  "version"; "uptime"; "time"; "ping"; "mam"; "csi_simple"; "smacks"; "groups"; "bookmarks";
  @MODULES@
}
modules_disabled = { "s2s"; "offline_s2s" }
groups_file = "@GROUPS@"
authentication = "@AUTHENTICATION@"
password_hash = "@PASSWORD_HASH@"

ssl = {
  key = "@KEY@"; certificate = "@CERTIFICATE@"; protocol = "@PROTOCOL@";
}
c2s_direct_tls_ssl = { key = "@KEY@"; certificate = "@CERTIFICATE@"; protocol = "@PROTOCOL@" }
@LINES@

VirtualHost "@DOMAIN@"
