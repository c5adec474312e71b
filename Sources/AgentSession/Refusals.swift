import NIOConcurrencyHelpers
import XMPP
import XMPPXML

/// Counts what was refused since the agent was started, by reason.
///
/// Safe on any thread.
final class Refusals: Sendable {
  enum Reason: String, Sendable, CaseIterable {
    /// A copy of a message that the account's own server did not send (XEP-0280 §11).
    case carbon
    /// A result of the archive that answers no request, or whose message is neither from nor to the account.
    case archive
    /// A change of the roster or the blocklist that the own server did not make (RFC 6121 §2.1.6).
    case push
    /// A receipt from somebody to whom the message was not sent.
    case receipt
    /// A contact that claims to show its presence although it was not asked for it (RFC 6121 §3.1.6).
    case approval
    /// A request that got no answer, because its sender asks too often.
    case request
    /// A stanza that is larger than the agent accepts.
    case stanza
  }

  private let counted = NIOLockedValueBox<[Reason: Int]>([:])

  func add(_ reason: Reason, _ count: Int = 1) {
    counted.withLockedValue { $0[reason, default: 0] += count }
  }

  /// The counts by the name of the reason; nil where nothing was refused.
  var counts: [String: Int]? {
    let counts = counted.withLockedValue { $0 }
    return counts.isEmpty ? nil : Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
  }

  /// Wraps responders so that each set request that they do not answer is counted.
  func counting(
    _ reason: Reason, in responders: [XMLName: StreamConfiguration.Responder]
  ) -> [XMLName: StreamConfiguration.Responder] {
    responders.mapValues { respond in
      { [self] request in
        let answer = respond(request)
        if request.type == .set, answer == nil { add(reason) }
        return answer
      }
    }
  }
}
