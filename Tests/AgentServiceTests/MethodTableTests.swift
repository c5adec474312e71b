import AgentProtocol
import FoundationEssentials
import Logging
import TestSupport
import Testing
import XMPPFeatures

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite("The table of methods") struct MethodTableTests {
  private static let sources =
    #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/Sources"

  private struct Declaration: Hashable {
    var name: String
    var needsPlace: Bool
  }

  /// The methods that the files of `AgentProtocol` declare.
  private static func declarations() throws -> [Declaration] {
    let directory = sources + "/AgentProtocol"
    let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter {
      $0.hasSuffix(".swift")
    }
    return try files.flatMap { file in
      let text = try String(contentsOf: URL(filePath: "\(directory)/\(file)"), encoding: .utf8)
      let enums = text.split(separator: "public enum ").filter {
        $0.prefix { $0 != "{" }.contains(/:\s(Agent|Submission)Method\b/)
      }
      return enums.compactMap { text in
        text.firstMatch(of: /static let name = "([^"]+)"/).map {
          Declaration(name: String($0.1), needsPlace: !text.contains("static let needsPlace = false"))
        }
      }
    }
  }

  private static func page() throws -> String {
    try String(
      contentsOf: URL(filePath: sources + "/AgentProtocol/AgentProtocol.docc/Protocol.md"), encoding: .utf8)
  }

  private static func names(in text: some StringProtocol) -> [String] {
    String(text).matches(of: /`([^`]+)`/).map { String($0.1) }
  }

  @Test("The agents implement every method that the protocol declares, and no other method.")
  func isTotal() throws {
    let directory = try TemporaryDirectory()
    let log = Logger(label: "test")
    let onDisk = AccountsOnDisk(directory: directory.paths.configuration, log: log)
    let resources = SessionResources(
      accounts: onDisk.store, hub: EventHub(cursor: 0),
      localStore: try LocalStore(path: directory.path + "/messages.db", log: log), log: log)
    let registry = SessionRegistry(resources, accounts: onDisk, onStop: {})
    let declared = try Self.declarations().map(\.name)
    #expect(declared.count > 30)
    #expect(Set(declared).count == declared.count)
    let accounts = StoredAccounts(directory.paths, onRepair: { _ in })
    let oneTime = MethodTable(accounts, OneTimeAgent(CommandConnection(-1)))
    #expect(MethodTable(registry).names.union(oneTime.names) == Set(declared))
  }

  @Test("The page about the protocol describes every method and names those that need no place.")
  func isDescribed() throws {
    let page = try Self.page()
    let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Methods\n") })
    let parts = section.split(separator: "\n### ")
    let tables = parts.prefix(1) + parts.filter { $0.hasPrefix("What a one-time agent answers\n") }
    #expect(tables.count == 2)
    let rows = tables.flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("| `") }
    let described = rows.flatMap { Self.names(in: $0.split(separator: "|")[0]) }
    let declared = try Self.declarations()
    #expect(described.sorted() == declared.map(\.name).sorted())

    let end = try #require(page.firstRange(of: ", which need none"))
    let start = try #require(page[..<end.lowerBound].ranges(of: "but for ").last)
    let free = Self.names(in: page[start.upperBound..<end.lowerBound])
    #expect(free.sorted() == declared.filter { !$0.needsPlace }.map(\.name).sorted())
  }

  @Test("The fields of a profile and the chat states have the same names as in the library.")
  func names() {
    #expect(Profile.Field.allCases.map(\.rawValue) == VCard.Field.allCases.map(\.rawValue))
    #expect(
      ChatStateSendMethod.State.allCases.map(\.rawValue) == ChatState.allCases.map(\.rawValue))
  }

  @Test("The limits of the protocol are those of the stanzas.")
  func bounds() {
    #expect(ContactsChangeMethod.maximumGroups == Roster.maximumGroups)
    #expect(ContactsChangeMethod.maximumText == PresenceSubscription.maximumText)
    #expect(ConversationsChangeMethod.maximumMarks == ConversationSettings.maximumMarks)
    #expect(ConversationsChangeMethod.maximumMark == ConversationSettings.maximumMark)
  }
}
