/// What a failure says and advises where its condition, stage or detail tells more than its name.
///
/// A row of ``FailureTable`` has one text for every failure of its name. Some names stand for many causes, each with a
/// remedy of its own: these are told here.
struct FailureAdvice: Sendable {
  let name: Failure.Name
  /// Conditions that this is about; empty: any, or none.
  var conditions: Set<String> = []
  /// The stage that this is about; nil: any.
  var stage: Failure.Stage?
  /// What the detail is like, with `*` for its facts, as in ``FailureDetail``; nil: whatever it is.
  var detail: String?
  /// What happened, in the place of the row's message; nil: the row's message is right.
  var message: Sentence?
  let hint: Sentence

  /// A text in both languages.
  struct Sentence: Sendable {
    let english: String
    let chinese: String

    init(_ english: String, _ chinese: String) {
      self.english = english
      self.chinese = chinese
    }

    func text(_ language: Language) -> String { language == .chinese ? chinese : english }
  }

  /// The first advice that fits; nil where the row says it all.
  static func of(_ failure: Failure) -> FailureAdvice? { all.first { $0.fits(failure) } }

  private func fits(_ failure: Failure) -> Bool {
    guard name == failure.name, stage ?? failure.stage == failure.stage else { return false }
    guard conditions.isEmpty || failure.condition.map(conditions.contains) == true else { return false }
    guard let pattern = detail else { return true }
    return failure.detail.map { FailureDetail.facts(of: $0, in: pattern) != nil } ?? false
  }
}
