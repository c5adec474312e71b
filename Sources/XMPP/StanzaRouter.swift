import XMPPStanza
import XMPPXML

/// Where a first-level element of a bound stream goes (RFC 6120 §8, §4.9).
public enum Route: Sendable, Equatable {
  case message(Message)
  case presence(Presence)
  /// An IQ of type get or set.
  case request(IQ)
  /// An IQ of type result or error.
  case answer(IQ)
  case streamError(StreamError)
  /// Answered with this error: a stanza that cannot be understood.
  case refused(with: XMLElement)
  /// Understood by nobody and not to be answered.
  case ignored
}

/// Decides where an element goes: pure, the stream carries it out.
public enum StanzaRouter {
  public static func route(_ element: XMLElement) -> Route {
    if let error = StreamError(element) { return .streamError(error) }
    guard element.name.namespace == Namespaces.client else { return .ignored }
    switch element.name.local {
    case "message": return Message(element).map(Route.message) ?? .ignored
    case "presence": return Presence(element).map(Route.presence) ?? .ignored
    case "iq":
      guard let iq = IQ(element) else { return refusal(of: element) }
      guard iq.isRequest else { return .answer(iq) }
      // Exactly one child says what is asked (RFC 6120 §8.2.3).
      return iq.payload.count == 1 ? .request(iq) : .refused(with: refusal(of: iq, .badRequest).element)
    default: return .ignored
    }
  }

  /// The answer to a request nobody handles (RFC 6120 §8.4).
  public static func refusal(of request: IQ, _ condition: StanzaError.Condition = .serviceUnavailable) -> IQ {
    var answer = IQ(type: .error, to: request.from, id: request.id)
    answer.payload = [StanzaError(condition).element]
    return answer
  }

  /// A request that is not valid is answered only when it says whom to answer and is no answer itself.
  private static func refusal(of element: XMLElement) -> Route {
    guard let type = element["type"], type == "get" || type == "set", let id = element["id"],
      let from = element["from"], (try? JID(from)) != nil
    else { return .ignored }
    return .refused(
      with: XMLElement(
        "iq", namespace: Namespaces.client, attributes: ["type": "error", "id": id, "to": from],
        children: [StanzaError(.badRequest).element]))
  }
}
