import AgentProtocol
import Terminal

/// `imctl login --list-mechanisms`: the features that a server offers inside TLS before a login.
enum MechanismList {
  static func show(
    _ address: String, _ options: ConnectionOptions, _ output: OutputOptions, until deadline: Deadline
  ) throws {
    let parameters = ServerMechanismsMethod.Parameters(
      address: address, options: options, timeout: deadline.secondsLeft ?? 0)
    let offer = try OneTimeAgent.ask(
      ServerMechanismsMethod.self, parameters, until: deadline.ofAgent, onStep: output.show)
    try output.data(offer, text: text(offer))
  }

  /// One line for each feature, beginning with its profile.
  static func text(_ offer: ServerMechanismsMethod.Result) -> String {
    var lines = offer.sasl.map { ("sasl", $0) }
    lines += (offer.sasl2 ?? []).map { ("sasl2", $0) }
    lines += offer.fast.map { ("fast", $0) }
    lines += (offer.channelBindings ?? []).map { ("binding", $0) }
    if offer.bind2 { lines.append(("feature", "bind2")) }
    if offer.registration { lines.append(("feature", "registration")) }
    return lines.map { name, value in
      name + String(repeating: " ", count: 10 - name.count) + "\(peer: value)"
    }.joined(separator: "\n")
  }
}
