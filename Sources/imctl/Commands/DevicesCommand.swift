import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl devices`: the devices that are logged in to the account.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "The devices of the account: see them, and end the session of one that is lost.",
    discussion: """
      Asked over the session of the account, else on a short stream of its own that shows no presence. With --user \
      and a password or token nobody needs to be logged in, and what is stored stays as it is.
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
    abstract: "List the devices of the account, those that are online first.",
    discussion: """
      A line a device: its resource, name, software, and whether it is online. What a server tells of devices without \
      presence differs: a device that shows none may be missing.
      """)

  @OptionGroup(title: "Account that need not be logged in") var user: DeviceUserOptions
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
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
    abstract: "Tell which device this one is to the others.",
    discussion: "Its id is told to the server and to the devices of the account, and to nobody else.")

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
    abstract: "Say what this device is called, to the other devices of the account.",
    discussion: "Kept with the account. An empty name takes it away: then the name of the machine is shown.")

  @Argument(help: ArgumentHelp("At most 256 characters.", valueName: "NAME"))
  var name: String

  @OptionGroup var options: AccountCommandOptions

  func validate() throws {
    if !DeviceIdentity(name: name).isValid {
      throw ValidationError(
        inLanguage(
          "The name has more than \(DeviceIdentity.maximumLength) characters, or control characters.",
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
