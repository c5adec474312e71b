import NIOCore
import XMPPStanza
import XMPPXML

/// Sends stanzas and requests: an ``XMPPStream``, or a session that ends with its stream.
public protocol RequestStream: Sendable {
  /// Does the same as ``XMPPStream/send(_:)``.
  func send(_ stanzas: [XMLElement]) async throws(XMPPError)
  /// Does the same as ``XMPPStream/request(_:timeout:)``.
  func request(_ request: IQ, timeout: TimeAmount) async throws(XMPPError) -> IQ
  /// Does the same as ``XMPPStream/exchange(_:timeout:written:)``.
  func exchange(
    _ stanzas: [XMLElement], timeout: TimeAmount, written: @Sendable () -> Void
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>]
}

extension RequestStream {
  /// Sends a request with a time limit of 30 seconds.
  public func request(_ request: IQ) async throws(XMPPError) -> IQ {
    try await self.request(request, timeout: .seconds(30))
  }

  public func exchange(
    _ stanzas: [XMLElement], timeout: TimeAmount
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>] {
    try await exchange(stanzas, timeout: timeout) {}
  }
}

extension XMPPStream: RequestStream {}
