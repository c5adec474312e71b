import AgentProtocol
import XMPP
import XMPPStanza
import XMPPTransport

// The errors of the library and the failures of the agent: a code of `XMPPError` is the name of a row of `FailureTable`,
// and both name the stages alike. Everything that is made of one for the other is made here.

extension Failure.Name {
  /// The name of the failure for an error of the library.
  package init(_ code: XMPPError.Code) { self.init(rawValue: code.rawValue) }
}

extension Failure.Stage {
  package init(_ stage: XMPPError.Stage) { self = Self(rawValue: stage.rawValue) ?? .request }
}

extension Failure {
  /// The failure for an error of the library. What the server said makes the library's own words needless.
  package init(_ error: XMPPError) {
    self.init(error, detail: error.condition == nil ? FailureDetail(error.reason) : nil)
  }

  private init(_ error: XMPPError, detail: FailureDetail?) {
    self.init(
      Name(error.code), stage: Stage(error.stage), detail: detail, condition: error.condition,
      text: error.text)
  }

  /// The failure for a request that was answered with an error.
  package init(_ error: StanzaError, detail: FailureDetail? = nil) {
    self.init(
      .stanzaError, stage: .request, detail: detail, condition: error.condition.rawValue, text: error.text)
  }

  /// The failure for a refused request, with an explanation beside the server's text.
  package static func refused(_ error: XMPPError) -> Failure {
    Failure(error, detail: FailureDetail(error.reason))
  }

  /// Runs requests to the server and maps their errors by ``refused(_:)``.
  package static func whenRefused<Result: Sendable>(
    _ body: @Sendable () async throws(XMPPError) -> Result
  ) async throws(Failure) -> Result {
    do throws(XMPPError) { return try await body() } catch { throw refused(error) }
  }
}

extension XMPPError.Code {
  /// The code that has the name of a failure, for the library to pass on.
  package init(_ name: Failure.Name) { self.init(rawValue: name.rawValue) }
}

extension FailureDetail {
  /// The detail for an error of a connection or stream; an unknown sentence becomes text.
  package init(_ reason: ErrorReason) {
    if let key = reason.key.flatMap(Key.init(name:)) {
      self = .sentence(key, reason.arguments.map { FailureDetail($0) })
    } else {
      self = .text(reason.description)
    }
  }
}

extension ErrorReason {
  /// The reason for an error of a stream with the same sentence.
  init(_ detail: FailureDetail) {
    if case .sentence(let key, let arguments) = detail {
      self.init(
        key: key.name, arguments: arguments.map { ErrorReason($0) }, description: detail.text(.english))
    } else {
      self.init(text: detail.text(.english))
    }
  }
}
