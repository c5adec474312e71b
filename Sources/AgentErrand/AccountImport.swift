import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import Glibc
import XMPPSASL

/// Imports accounts from a JSON file of another program: an object with `account`, `password`, `domain` and `isLogin`,
/// a list of such objects, or an object with such a list in `accounts`.
///
/// Other keys are ignored. The misspelling `passsword`, which occurs in practice, counts as `password`.
package struct AccountImport: Sendable {
  /// The maximum size of the file in octets.
  package static let maximumSize = 16 << 20

  package struct Entry: Equatable {
    package var account: String
    package var domain: String
    package var password: Secret?
    package var isLogin: Bool

    package init(account: String, domain: String, password: Secret? = nil, isLogin: Bool) {
      self.account = account
      self.domain = domain
      self.password = password
      self.isLogin = isLogin
    }
  }

  package let entries: [Entry]
  /// Whether other users can read the file and the secrets in it.
  package private(set) var isOpenToOthers = false

  /// Reads a file. Throws `invalidParameter` with the place of an error.
  ///
  /// - Parameters:
  ///   - path: the path; nil for standard input.
  ///   - name: the name of the file for failures.
  package init(path: String?, name: String) throws(Failure) {
    let bytes: [UInt8]?
    do throws(Errno) {
      let file = try FileDescriptor(opening: path ?? "/dev/stdin", O_RDONLY)
      let status = try file.status()
      isOpenToOthers = status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o044 != 0
      bytes = try file.read(limit: Self.maximumSize)
    } catch {
      throw Self.refusal(name, .text("\(error)"))
    }
    guard let bytes else { throw Self.refusal(name, .store(.tooLarge)) }
    entries = try Self.entries(in: bytes, of: name)
  }

  /// - Parameter name: the name of the file for failures.
  package static func entries(in bytes: [UInt8], of name: String) throws(Failure) -> [Entry] {
    let json: JSONValue
    do { json = try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) } catch {
      throw refusal(name, .store(.notJSON))
    }
    let objects: [JSONValue]
    switch json {
    case .array(let list): objects = list
    case .object(let fields):
      if case .array(let list)? = fields["accounts"] { objects = list } else { objects = [json] }
    default: throw refusal(name, .store(.notObjectOrList))
    }
    var entries: [Entry] = []
    for (index, object) in objects.enumerated() {
      do throws(Wrong) {
        let entry = try Entry(object)
        guard !entries.contains(where: { $0.account == entry.account }) else {
          throw Wrong(.importedTwice, entry.account)
        }
        entries.append(entry)
      } catch {
        throw refusal(name, .store(.importedAccount, index + 1, error.why))
      }
    }
    return entries
  }

  /// Stores all accounts, or none on a failure.
  ///
  /// - Parameter replaces: whether a stored account with another secret gets the one of the file.
  package func store(in store: AccountStore, replaces: Bool) throws(Failure) -> [AccountImportMethod.Outcome]
  {
    try store.update { file throws(Failure) in
      entries.map { entry in
        let before = file[entry.account]
        var account = before ?? Account(account: entry.account, domain: entry.domain)
        var action = before == nil ? AccountImportMethod.Action.added : .changed
        if before?.hasCredential == true && !replaces || before != nil && entry.password == nil {
          action = .kept
        } else {
          if before?.hasCredential == true { account.forgetSecrets() }
          account.apply(entry)
        }
        file[entry.account] = account
        return AccountImportMethod.Outcome(account: entry.account, action: action)
      }
    }
  }

  struct Wrong: Error {
    var why: FailureDetail
    init(_ key: FailureDetail.Store, _ arguments: String...) {
      why = .sentence(.store(key), arguments.map(FailureDetail.text))
    }
  }

  private static func refusal(_ name: String, _ why: FailureDetail) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: .about(name, why))
  }
}

extension AccountImport.Entry {
  init(_ json: JSONValue) throws(AccountImport.Wrong) {
    guard case .object(let fields) = json else { throw .init(.notObject) }
    func text(_ key: String) throws(AccountImport.Wrong) -> String? {
      switch fields[key] {
      case nil, .null, .string(""): return nil
      case .string(let text): return text
      default: throw .init(.notString, key)
      }
    }
    guard let name = try text("account") else { throw .init(.noAccount) }
    let domain = try text("domain")
    let spelling = name.contains("@") ? name : domain.map { "\(name)@\($0)" }
    guard let spelling else { throw .init(.noDomain, name) }
    guard let jid = try? BareJID.parts(spelling) else { throw .init(.notJID, spelling) }
    if let domain, (try? BareJID.parts(domain))?.domain != jid.domain {
      throw .init(.otherDomain, jid.bare, domain)
    }
    account = jid.bare
    self.domain = jid.domain
    let (right, misspelt) = (try text("password"), try text("passsword"))
    if let right, let misspelt, right != misspelt { throw .init(.passwordsDiffer) }
    password = (right ?? misspelt).map { Secret($0) }
    switch fields["isLogin"] {
    case nil, .null: isLogin = false
    case .bool(let flag): isLogin = flag
    default: throw .init(.notBoolean)
    }
  }
}

extension Account {
  /// An account without a secret cannot log in automatically.
  fileprivate mutating func apply(_ entry: AccountImport.Entry) {
    credential = LoginCredential()
    password = entry.password
    store = .password
    isLogin = entry.isLogin && entry.password != nil
  }
}
