/// The text of the systemd user unit that runs the agent.
///
/// The unit has the type `simple` and no socket activation, because the agent has to run for its sessions from the
/// user's first login on. Its sandbox must not restrict the commands that print secrets: their files may be anywhere,
/// and in a user namespace `ssh` and similar programs refuse files that appear to belong to nobody.
struct ServiceUnit {
  static let name = "imctl.service"

  /// The absolute path of the program.
  let executable: String
  /// Variables of the agent's environment that do not depend on the service manager.
  let environment: [(name: String, value: String)]

  var text: String {
    let variables = environment.map { "Environment=" + Self.quoted("\($0.name)=\($0.value)") + "\n" }.joined()
    return """
      # Written by `imctl agent install`. What you change here is lost at the next one: `systemctl --user edit \(Self.name)`.
      [Unit]
      Description=XMPP sessions of imctl
      Documentation=man:imctl(1)

      [Service]
      Type=notify
      \(variables)ExecStart=\(Self.quoted(executable)) agent run --keep
      ExecReload=kill -HUP $MAINPID
      Restart=on-failure
      RestartSec=2
      WatchdogSec=2min
      TimeoutStopSec=30
      UMask=0077
      LimitCORE=0
      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictRealtime=yes
      RestrictSUIDSGID=yes
      RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
      SystemCallArchitectures=native

      [Install]
      WantedBy=default.target

      """
  }

  /// Quotes a word of a unit file (systemd.syntax(7)), where `%` begins a specifier.
  static func quoted(_ word: String) -> String {
    var text = "\""
    for scalar in word.unicodeScalars {
      switch scalar {
      case "\\", "\"": text += "\\\(scalar)"
      case "%": text += "%%"
      case "\n": text += "\\n"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
