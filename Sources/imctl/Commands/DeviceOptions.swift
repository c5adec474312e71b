import AgentProtocol
import ArgumentParser

/// The description of this device for the other devices of the account.
struct DeviceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Name of this device.", valueName: "name"))
  var deviceName: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Kind of device, a number from 1 to 100.", valueName: "number"))
  var platform: Int?

  @Option(help: ArgumentHelp("Additional text about this device.", valueName: "text"))
  var deviceExt: String?

  /// The description; nil if no option was given.
  var identity: DeviceIdentity? {
    let identity = DeviceIdentity(name: deviceName, platform: platform, ext: deviceExt)
    return identity == DeviceIdentity() ? nil : identity
  }

  func validate() throws {
    if let platform, !DeviceIdentity.platforms.contains(platform) {
      throw ValidationError(
        inLanguage("The platform \(platform) is not in the range 1 to 100.", "平台 \(platform) 不在 1 到 100 之间。"))
    }
    if identity?.isValid == false {
      throw ValidationError(
        inLanguage(
          "A text about the device has more than \(DeviceIdentity.maximumLength) characters, or contains control characters.",
          "设备说明超过 \(DeviceIdentity.maximumLength) 个字符，或含有控制字符。"))
    }
  }
}
