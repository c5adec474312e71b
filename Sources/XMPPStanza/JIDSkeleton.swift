import CICU

extension JID {
  /// The visual skeleton of the bare JID (UTS #39 §4): JIDs with the same skeleton can be confused, for example because
  /// of letters from another script. Use it only for comparisons; nil if ICU fails.
  public var skeleton: String? { ICUText.convert(bare.description, icu_skeleton) }
}
