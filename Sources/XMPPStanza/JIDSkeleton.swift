import CICU

extension JID {
  /// What the bare JID looks like (UTS #39 §4): two with the same skeleton can be taken for each other, as with letters of
  /// another script. Only to be compared; nil when ICU fails.
  public var skeleton: String? { ICUText.convert(bare.description, icu_skeleton) }
}
