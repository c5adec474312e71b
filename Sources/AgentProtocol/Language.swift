import Glibc

/// The languages of texts for the user.
public enum Language: Sendable, CaseIterable {
  case english, chinese

  /// The language that the environment of this process selects.
  public static let current = Language { name in getenv(name).map { String(cString: $0) } }

  /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty decides: Chinese for `zh*`, otherwise English.
  public init(environment: (String) -> String?) {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
    let locale = names.lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
    self = locale.lowercased().hasPrefix("zh") ? .chinese : .english
  }
}
