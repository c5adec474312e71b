import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl devices policy`.
struct DevicesPolicyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Show or set which devices of the account may be online at the same time.",
    discussion: """
      Policies:

        all: every device may be online.
        one-per-platform: a device that logs in kicks the others of its platform.
        single: a device that logs in kicks all others.

      --limit sets how many devices of a platform may be online. If there are more, the one that logged in first is \
      kicked, never one of another platform. With a limit of 0, no device of that platform can log in. With --check \
      last, a device logs in automatically or with --auto only if no other device has logged in since.

      The policy applies to the account: it is published where only the account can see it, and every imctl device \
      obeys it from its next login on. If the account is offline, the policy is stored and published at the next \
      login.
      """)

  @Argument(help: ArgumentHelp("The policy.", valueName: "POLICY"))
  var rule: DevicePolicy.Rule?

  @Option(
    help: ArgumentHelp(
      """
      Maximum number of devices of a platform, 0 to 4, such as 60=2; 60=any removes the limit. Can be repeated.
      """,
      valueName: "PLATFORM=NUMBER"))
  var limit: [String] = []

  @Option(
    help: ArgumentHelp(
      "Which devices log in automatically: every device with a token, or only the one that logged in last.",
      valueName: "token|last"))
  var check: DevicePolicy.Check?

  @OptionGroup var options: AccountCommandOptions

  func validate() throws { _ = try change() }

  func run() throws {
    let change = try change()
    let result = try AgentClient.answer(
      to: DevicesPolicyMethod.self, change, until: Deadline(options.timeout))
    let policy = result.policy
    let limits = policy.limits.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    let check = policy.check.map { ["check=\($0.rawValue)"] } ?? []
    try options.output.data(
      Answer(result), text: ([policy.rule.rawValue] + limits + check).joined(separator: " "))
    if !result.published {
      let cause = result.cause.map { ": \(peer: $0.message)" } ?? ""
      options.output.note(
        inLanguage(
          "the other devices will be told at the next login of this device", "其他设备要到本设备下次登录时才会得知") + cause)
    }
  }

  private struct Answer: Encodable {
    let policy: DevicePolicy.Rule
    let limits: [String: Int]
    let check: DevicePolicy.Check
    /// False or absent.
    let published: Bool?

    init(_ result: DevicesPolicyMethod.Result) {
      let policy = result.policy
      published = result.published ? nil : false
      self.policy = policy.rule
      limits = Dictionary(policy.limits.map { (String($0), $1) }, uniquingKeysWith: { one, _ in one })
      check = policy.check ?? .token
    }
  }

  private func change() throws -> DevicesPolicyMethod.Parameters {
    var change = DevicesPolicyMethod.Parameters(account: options.account.account)
    change.rule = rule
    change.check = check
    for text in limit {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false)
      let platform = parts.first.flatMap { Int($0) }
      switch (platform, parts.dropFirst().first.map(String.init)) {
      case (let platform?, "any"): change.unlimited = (change.unlimited ?? []) + [platform]
      case (let platform?, let number?):
        change.limits = change.limits ?? [:]
        change.limits?[platform] = Int(number) ?? -1
      default: change.limits = [0: 0]
      }
      guard parts.count == 2, (try? change.validate()) != nil else {
        throw ValidationError(
          inLanguage(
            "The limit \(text) is not PLATFORM=NUMBER with a platform of 1 to 100 and a number of 0 to 4 or any.",
            "限制 \(text) 不是 平台=数量：平台为 1 到 100，数量为 0 到 4 或 any。"))
      }
    }
    return change
  }
}

extension DevicePolicy.Rule: ExpressibleByArgument {}
extension DevicePolicy.Check: ExpressibleByArgument {}
