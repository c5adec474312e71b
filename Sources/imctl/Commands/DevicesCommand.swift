import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl devices`: the devices that are logged in to the account.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Manage the devices that are logged in to the account.",
    discussion: """
      The commands use the account's session. Without a session, they open a short connection that shows no presence. \
      With --user and a password or token, the account need not be logged in here, and stored data does not change.
      """,
    subcommands: [
      DevicesListCommand.self, DevicesSelfCommand.self, DevicesNameCommand.self, DevicesKickCommand.self,
      DevicesSendCommand.self, DevicesPolicyCommand.self,
    ])
}

/// `imctl devices list`.
struct DevicesListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the account's devices, online devices first.",
    discussion: """
      Prints one line per device: resource, name, whether it is online, since when, platform and software. Servers \
      differ in what they reveal about devices without presence, so such a device may be missing.
      """)

  @OptionGroup(title: "Account that is not logged in here") var user: DeviceUserOptions
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    try output.devices(devices(until: deadline))
  }

  private func devices(until deadline: Deadline) throws -> [Device] {
    if var login = try user.login(until: deadline) {
      login.timeout = deadline.secondsLeft ?? 0
      return try OneTimeAgent.ask(
        UserDevicesListMethod.self, login, until: deadline.ofAgent, onStep: output.show
      ).devices
    }
    let request = DevicesListMethod.Parameters(account: account.account, timeout: deadline.secondsLeft ?? 0)
    let answer = try AgentClient.session(start: .once, until: deadline.ofAgent) { agent in
      try agent.answer(to: agent.send(DevicesListMethod.self, request)) { output.show($0.body) }
    }
    return answer?.devices ?? []
  }
}

/// `imctl devices self`.
struct DevicesSelfCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "self",
    abstract: "Show this device as the account's other devices see it.",
    discussion: "Only the server and the account's devices learn the ID of this device.")

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let device = try DevicesCommand.own(options, name: nil)
    try options.output.devices([device])
  }
}

/// `imctl devices name`.
struct DevicesNameCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "name",
    abstract: "Set the name that the account's other devices see for this device.",
    discussion: """
      The name is stored with the account. An empty name removes it; the name of the machine is then shown instead.
      """)

  @Argument(help: ArgumentHelp("The name, with at most 256 characters.", valueName: "NAME"))
  var name: String

  @OptionGroup var options: AccountCommandOptions

  func validate() throws {
    if !DeviceIdentity(name: name).isValid {
      throw ValidationError(
        inLanguage(
          "The name has more than \(DeviceIdentity.maximumLength) characters, or contains control characters.",
          "名称超过 \(DeviceIdentity.maximumLength) 个字符，或含有控制字符。"))
    }
  }

  func run() throws {
    let device = try DevicesCommand.own(options, name: name)
    try options.output.devices([device])
  }
}

extension DevicesCommand {
  /// This device, after setting a new name if one was given.
  fileprivate static func own(_ options: AccountCommandOptions, name: String?) throws -> Device {
    try AgentClient.answer(
      to: DevicesSelfMethod.self, .init(account: options.account.account, name: name),
      until: Deadline(options.timeout))
  }
}

extension OutputOptions {
  /// Prints devices as a table, in which this device is bold.
  fileprivate func devices(_ devices: [Device]) throws {
    let columns: [TextTable.Column] = [
      .init(inLanguage("RESOURCE", "资源"), .cut), .init(inLanguage("NAME", "名称"), .cut),
      .init(inLanguage("STATE", "状态")), .init(inLanguage("SINCE", "登录时间")),
      .init(inLanguage("PLATFORM", "平台")), .init(inLanguage("SOFTWARE", "软件"), .cut),
      .init(inLanguage("DETAILS", "附加信息"), .cut),
    ]
    try list(devices, columns) { device in
      let state = device.online ? inLanguage("online", "在线") : inLanguage("offline", "离线")
      return [
        TextTable.Cell("\(peer: device.resource ?? "-")", device.isSelf ? .bold : .plain),
        TextTable.Cell("\(peer: device.name ?? device.model ?? "")"),
        TextTable.Cell(device.isSelf ? state + inLanguage(", this device", "，本设备") : state),
        TextTable.Cell(device.lastLogin.map { LocalTime($0).description } ?? "", .faint),
        TextTable.Cell(device.platform.map(String.init) ?? ""),
        TextTable.Cell("\(peer: device.software ?? "")"), TextTable.Cell("\(peer: device.ext ?? "")"),
      ]
    }
  }
}
