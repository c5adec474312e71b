import AgentLogin
import AgentProtocol

/// `imctl login --list-mechanisms`: what a server offers inside TLS, with nobody logged in.
enum MechanismList {
  static func show(
    _ address: String, _ options: ConnectionOptions, _ output: OutputOptions, until deadline: Deadline
  ) throws {
    let stream = try ServerStream(
      to: address, options: options, timeout: deadline.secondsLeft ?? 0, language: OutputOptions.language
    ) { output.show($0) }
    let offer = try Foreground.wait(
      until: deadline.ofStream, else: .timedOut(inLanguage("the server", "服务器"))
    ) {
      () async throws(Failure) in try await ServerOffer.of(stream)
    }
    try output.data(offer, text: text(offer))
  }

  /// A line an offer, with its profile in front.
  static func text(_ offer: ServerOffer) -> String {
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
