import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl profile`: profiles of users.
struct ProfileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile",
    abstract: "Show profiles (vCards), and change your own.",
    discussion: """
      Uses the account's session. Exits with status 67 if the account is not logged in, and 74 if the server answers \
      with an error.
      """,
    subcommands: [ProfileGetCommand.self, ProfileSetCommand.self])

  static let names = Profile.Field.allCases.map(\.rawValue).joined(separator: ", ")
}

/// `imctl profile get`.
struct ProfileGetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Print somebody's profile, or your own.",
    discussion: "Prints one line for each field that is set: \(ProfileCommand.names).")

  @Argument(
    help: ArgumentHelp("Whose profile to print. If omitted, your own.", valueName: "JID"),
    completion: .contacts)
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
    abstract: "Change fields of your own profile.",
    discussion: """
      Fields: \(ProfileCommand.names). FIELD= removes a field. Fields that are not named stay unchanged. Others can \
      read the whole profile.
      """)

  @Argument(help: ArgumentHelp("Fields and their new texts.", valueName: "FIELD=TEXT"))
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
            "\"\(text)\" is not FIELD=TEXT; the fields are: \(ProfileCommand.names).",
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
        inLanguage("the server did not store this field unchanged: \(name)", "服务器没有原样保存：\(name)"))
    }
  }
}
