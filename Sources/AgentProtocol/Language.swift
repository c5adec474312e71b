import Glibc

/// The languages that texts for the user exist in.
public enum Language: Sendable, CaseIterable {
  case english, chinese

  /// What the environment of this process asks for.
  public static let current = Language { name in getenv(name).map { String(cString: $0) } }

  /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty decides: Chinese for `zh*`, else English.
  public init(environment: (String) -> String?) {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
    let locale = names.lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
    self = locale.lowercased().hasPrefix("zh") ? .chinese : .english
  }
}
