import XMPPStanza
import XMPPXML

/// The destination of a first-level element of a bound stream (RFC 6120 §8, §4.9).
public enum Route: Sendable, Equatable {
  case message(Message)
  case presence(Presence)
  /// An IQ of type get or set.
  case request(IQ)
  /// An IQ of type result or error.
  case answer(IQ)
  case streamError(StreamError)
  /// An invalid stanza that is answered with this error.
  case refused(with: XMLElement)
  /// An element that is not understood and must not be answered.
  case ignored
}

/// Decides where an element goes. Pure: the stream acts on the result.
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
      // A request has exactly one child (RFC 6120 §8.2.3).
      return iq.payload.count == 1 ? .request(iq) : .refused(with: refusal(of: iq, .badRequest).element)
    default: return .ignored
    }
  }

  /// The error answer to a request without a handler (RFC 6120 §8.4).
  public static func refusal(of request: IQ, _ condition: StanzaError.Condition = .serviceUnavailable) -> IQ {
    var answer = IQ(type: .error, to: request.from, id: request.id)
    answer.payload = [StanzaError(condition).element]
    return answer
  }

  /// An invalid request is answered only if it names its sender and is not an answer itself.
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
