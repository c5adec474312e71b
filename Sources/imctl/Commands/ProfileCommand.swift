import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl profile`: profiles of users.
struct ProfileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile",
    abstract: "What you and others tell of yourselves: name, address, birthday and the like.",
    discussion: """
      Asked over the session of the account. Exits 67 when it is not logged in, 74 when the server answers with an error.
      """,
    subcommands: [ProfileGetCommand.self, ProfileSetCommand.self])

  static let names = Profile.Field.allCases.map(\.rawValue).joined(separator: ", ")
}

/// `imctl profile get`.
struct ProfileGetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Print the profile of somebody, or your own.",
    discussion: "A line a field: \(ProfileCommand.names); those that are there.")

  @Argument(
    help: ArgumentHelp("Whose profile; without it the account's.", valueName: "JID"), completion: .contacts)
  var jid: String?

  @OptionGroup var common: AccountCommandOptions

  func run() throws {
    let profile = try common.answer(to: ProfileGetMethod.self) { timeout in
      .init(account: common.account.account, jid: jid, timeout: timeout)
    }
    // An empty profile has no text output.
    if profile.fields.isEmpty, !common.output.json { return }
    try common.output.facts(
      profile,
      Profile.Field.allCases.compactMap { field in profile.fields[field.rawValue].map { (field.rawValue, $0) }
      })
  }
}

/// `imctl profile set`.
struct ProfileSetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change fields of your own profile; the others stay.",
    discussion: "Fields: \(ProfileCommand.names). FIELD= removes one. Others can read all of it.")

  @Argument(help: ArgumentHelp("What a field is to be.", valueName: "FIELD=TEXT"))
  var fields: [String]

  @OptionGroup var common: AccountCommandOptions

  func validate() throws { _ = try parsed() }

  private func parsed() throws -> [String: String] {
    var parsed: [String: String] = [:]
    for text in fields {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, Profile.Field(rawValue: parts[0]) != nil else {
        throw ValidationError(
          inLanguage(
            "\"\(text)\" is not FIELD=TEXT with one of: \(ProfileCommand.names).",
            "“\(text)”不是 FIELD=TEXT；可用的字段：\(ProfileCommand.names)。"))
      }
      parsed[parts[0]] = parts[1]
    }
    return parsed
  }

  func run() throws {
    let fields = try parsed()
    let profile = try common.answer(to: ProfileSetMethod.self) { timeout in
      .init(account: common.account.account, fields: fields, timeout: timeout)
    }
    if common.output.json { return try common.output.data(profile, text: "") }
    for (name, text) in fields where profile.fields[name] ?? "" != text {
      common.output.note(
        inLanguage("the server does not keep this as it is: \(name)", "服务器没有原样保存：\(name)"))
    }
  }
}
