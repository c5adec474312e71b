/// The systemd user unit that runs the agent, as text: pure.
///
/// The unit is simple and not activated by its socket, since the agent is there for its sessions and not for whoever
/// asks it something: it has to run from the user's first login on. Of systemd's sandbox it has what does not bind the
/// commands that print secrets: their files may be anywhere, and in a user namespace `ssh` and its kind refuse to run
/// for files that seem to be nobody's.
struct ServiceUnit {
  static let name = "imctl.service"

  /// Absolute path of the program.
  let executable: String
  /// What the agent is to find in its environment, whatever the service manager has there.
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

  /// A word of a unit file (systemd.syntax(7)), where `%` is a specifier.
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
