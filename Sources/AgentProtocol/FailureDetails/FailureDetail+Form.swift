extension FailureDetail {
  /// Combinations of other details.
  public enum Form: String, CaseIterable, Sendable {
    case about, and, list, seconds

    public var sentence: Sentence {
      switch self {
      case .about: Sentence("{1}: {2}", "{1}：{2}")
      case .and: Sentence("{1}; {2}", "{1}；{2}")
      case .list: Sentence("{1}, {2}", "{1}，{2}")
      case .seconds: Sentence("{1} s", "{1} 秒")
      }
    }
  }
}
