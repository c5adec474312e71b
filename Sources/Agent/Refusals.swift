import NIOConcurrencyHelpers
import XMPP
import XMPPXML

/// How much of what came was refused, and why, since the agent was started.
///
/// Asked and told on any thread.
final class Refusals: Sendable {
  enum Reason: String, Sendable, CaseIterable {
    /// A copy of a message that did not come from the own account (XEP-0280 §11).
    case carbon
    /// A result of the archive that nobody asked for, or with a message that is neither from nor to the account.
    case archive
    /// A change of the roster or the blocklist that the own server did not make (RFC 6121 §2.1.6).
    case push
    /// A receipt of somebody whom the message was not for.
    case receipt
    /// A contact says that it shows its presence, which nobody has asked it for (RFC 6121 §3.1.6).
    case approval
    /// A request that got no answer: whoever asks so fast is not answered.
    case request
    /// A stanza that was more than is taken from anybody.
    case stanza
  }

  private let counted = NIOLockedValueBox<[Reason: Int]>([:])

  func add(_ reason: Reason, _ count: Int = 1) {
    counted.withLockedValue { $0[reason, default: 0] += count }
  }

  /// By the name of the reason; nil where nothing was refused.
  var counts: [String: Int]? {
    let counts = counted.withLockedValue { $0 }
    return counts.isEmpty ? nil : Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
  }

  /// Counts what the responders of these payloads do not take.
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
