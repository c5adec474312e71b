import AgentProtocol
import Testing
import XMPPSASL

@testable import AgentStore

@Suite struct LoginCredentialTests {
  private func given(
    stored: LoginKind? = nil, _ change: (inout LoginMethod.Parameters) -> Void
  ) throws(Failure) -> LoginCredential? {
    var parameters = LoginMethod.Parameters(account: "a@example.org")
    change(&parameters)
    var credential: LoginCredential?
    if let stored {
      credential = LoginCredential()
      credential?.kind = stored
    }
    return try LoginCredential(given: parameters, stored: credential)
  }

  @Test("The kind of a login is the one that was named, or else the stored kind if it fits the given secret.")
  func kinds() throws {
    #expect(try given { $0.password = "p" }?.kind == .password)
    #expect(try given(stored: .email) { $0.password = "p" }?.kind == .email)
    #expect(try given(stored: .jwt) { $0.password = "p" }?.kind == .password)
    #expect(try given { $0.token = "t" }?.kind == .token)
    #expect(try given(stored: .apiKey) { $0.tokenCommand = "t" }?.kind == .apiKey)
    #expect(try given(stored: .password) { $0.token = "t" }?.kind == .token)
    #expect(try given { $0.auth = .anonymous }?.kind == .anonymous)
    let external = try given {
      $0.certFile = "/c"
      $0.keyFile = "/k"
    }
    #expect(external?.kind == .external)
    let byExtension = try given {
      $0.auth = .thirdParty
      $0.loginExt = "e"
    }
    #expect(byExtension?.kind == .thirdParty && byExtension?.token == nil)
  }

  @Test("A login without a given secret has no new credential, and may name the stored kind.")
  func nothing() throws {
    #expect(try given { _ in } == nil)
    #expect(try given { $0.loginExt = "e" } == nil)
    #expect(try given(stored: .jwt) { $0.auth = .jwt } == nil)
  }

  @Test("Options that contradict each other are refused.")
  func refused() {
    let wrong: [(inout LoginMethod.Parameters) -> Void] = [
      { $0.auth = .jwt }, { $0.auth = .external },
      { ($0.auth, $0.password) = (.jwt, "p") }, { ($0.auth, $0.token) = (.password, "t") },
      { ($0.auth, $0.password) = (.anonymous, "p") }, { ($0.auth, $0.token) = (.function, "t") },
      { ($0.auth, $0.certFile) = (.jwt, "/c") }, { $0.certFile = "/c" },
      { ($0.auth, $0.loginExt) = (.token, "e") },
    ]
    for change in wrong {
      do throws(Failure) {
        _ = try given(change)
        Issue.record("accepted")
      } catch {
        #expect(error.name == .invalidParameter && error.exit == 64)
      }
    }
    do throws(Failure) {
      _ = try given { $0.token = "two words" }
      Issue.record("accepted")
    } catch {
      #expect(error.name == .invalidToken && error.detail?.description.contains("two") == false)
    }
  }

  @Test("Quotes, spaces and line breaks around a given token are removed.")
  func stripped() throws {
    #expect(try given { $0.token = "\u{FEFF}\"t\"\n" }?.token?.token == Secret("t"))
  }

  @Test("Options that a new secret does not replace are kept from the account.")
  func beside() throws {
    var stored = LoginCredential(password: Secret("old"))
    stored.authcid = "staff-17"
    stored.loginExt = "ext"
    var parameters = LoginMethod.Parameters(account: "a@example.org")
    parameters.password = "new"
    let given = try #require(try LoginCredential(given: parameters, stored: stored))
    #expect(given.authcid == "staff-17" && given.loginExt == "ext" && given.password == Secret("new"))
    parameters.authcid = ""
    #expect(try LoginCredential(given: parameters, stored: stored)?.authcid == nil)
    parameters.authcid = "staff-18"
    #expect(try LoginCredential(given: parameters, stored: stored)?.authcid == "staff-18")
    // Another kind of login is another name's.
    stored.kind = .jwt
    parameters.authcid = nil
    parameters.auth = .password
    #expect(try LoginCredential(given: parameters, stored: stored)?.authcid == nil)
  }
}
