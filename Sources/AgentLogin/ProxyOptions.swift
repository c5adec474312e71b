import AgentProtocol
import AgentSystem
import UserCommand
import XMPP
import XMPPTransport

// The proxy of the connection options.

extension ConnectionOptions {
  /// Takes an earlier proxy away.
  static let noProxy = "none"

  /// Throws `invalidParameter` for what is no proxy, and for a password in it.
  package func checkProxy() throws(Failure) {
    if let proxy, proxy != Self.noProxy { _ = try Self.address(proxy) }
    if let proxyPasswordCommand { _ = try CredentialCommand(proxyPasswordCommand) }
  }

  /// The proxy, and how its password is asked for: what a stream with these options needs of them.
  ///
  /// Throws `invalidParameter`, also for a command without a user whose password it could print.
  func proxySettings() throws(Failure) -> ProxySettings {
    guard let proxy, proxy != Self.noProxy else {
      guard proxyPasswordCommand == nil || proxy == Self.noProxy else {
        throw LoginPlan.invalid(.login(.proxyCommandNeedsProxy))
      }
      return ProxySettings()
    }
    let address = try Self.address(proxy)
    guard let proxyPasswordCommand else { return ProxySettings(address: address) }
    guard address.user != nil else {
      throw LoginPlan.invalid(.login(.proxyCommandNeedsUser))
    }
    return ProxySettings(address: address, passwordCommand: try CredentialCommand(proxyPasswordCommand))
  }

  private static func address(_ url: String) throws(Failure) -> ProxyAddress {
    do { return try ProxyAddress(url) } catch { throw LoginPlan.invalid(FailureDetail(error.reason)) }
  }

  /// Another proxy has a user and a password of its own.
  func withProxy(of other: ConnectionOptions) -> ConnectionOptions {
    var options = self
    if let proxy = other.proxy, proxy != self.proxy {
      options.proxy = proxy == Self.noProxy ? nil : proxy
      options.proxyPasswordCommand = nil
    }
    options.proxyPasswordCommand = other.proxyPasswordCommand ?? options.proxyPasswordCommand
    return options
  }
}

/// How a stream gets through a proxy, where there is one.
struct ProxySettings: Sendable, Equatable {
  var address: ProxyAddress?
  var passwordCommand: CredentialCommand?

  func apply(to configuration: inout StreamConfiguration) {
    configuration.proxy = address
    guard let passwordCommand else { return }
    configuration.proxyPassword = { () async throws(XMPPError) in
      do throws(Failure) {
        return try await passwordCommand.secret()
      } catch {
        // Before anything is connected, and no matter of the account's own secret.
        let stage = error.stage == .input ? XMPPError.Stage.input : .proxy
        throw XMPPError(
          .init(rawValue: error.name.rawValue), stage: stage, ErrorReason(error.detail ?? .text("")))
      }
    }
  }
}
