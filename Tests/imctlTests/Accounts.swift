import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport

/// `accounts.json` as a test wants it.
enum Accounts {
  static func path(_ imctl: IMCTL) -> String { imctl.home + "/.config/imctl/accounts.json" }

  static func write(_ text: String, in imctl: IMCTL) throws {
    try PrivateDirectory.ensure(imctl.home + "/.config/imctl")
    guard FileManager.default.createFile(atPath: path(imctl), contents: Data(text.utf8)),
      chmod(path(imctl), 0o600) == 0
    else { throw TestSupportError("\(path(imctl)) cannot be written") }
  }

  static func read(_ imctl: IMCTL) throws -> String {
    guard let data = FileManager.default.contents(atPath: path(imctl)) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  /// alice with a password, and bob, who is the default and logged in.
  static let two = #"""
    {"version":1,"default":"bob@example.org","last":"alice@example.org","accounts":[
      {"account":"alice@example.org","domain":"example.org","isLogin":false,"password":"geheim",
       "store":"password"},
      {"account":"bob@example.org","domain":"example.org","isLogin":true,"password":"geheim",
       "store":"password"}]}
    """#
}
