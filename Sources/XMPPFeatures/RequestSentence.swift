import XMPP
import XMPPTransport

/// Sentences about a server's refusal of these features' requests.
public enum RequestSentence: String, ErrorSentence {
  case accountExists, tooMany, registrationClosed, passwordClosed, deletionClosed
  case registrationNotAccepted, passwordNotAccepted, deletionNotAccepted, registrationRefused
  case passwordRefused, deletionRefused, registrationUnanswered, passwordUnanswered
  case deletionUnanswered, unusableForm, noField, registerAt, unaskedField, oneValue, oneOf
  case missingFields, missingFieldsAt, wrongDomain, unknownCommandForm, commandNotDone
  case unusableCommandAnswer, unusableItems, notPrivate, refused

  public static let topic = "request"

  public var english: String {
    switch self {
    case .accountExists: "this account exists already: choose another name"
    case .tooMany: "too many requests from this address recently"
    case .registrationClosed:
      "the server does not allow users to register: ask its administrator for an account"
    case .passwordClosed: "the server does not allow users to change the password: ask its administrator"
    case .deletionClosed: "the server does not allow users to delete the account: ask its administrator"
    case .registrationNotAccepted: "the server does not accept the registration data"
    case .passwordNotAccepted: "the server does not accept the data for changing the password"
    case .deletionNotAccepted: "the server does not accept the data for deleting the account"
    case .registrationRefused: "the server refused the registration"
    case .passwordRefused: "the server refused to change the password"
    case .deletionRefused: "the server refused to delete the account"
    case .registrationUnanswered: "the server sent no valid answer to the registration request"
    case .passwordUnanswered: "the server sent no valid answer to the request to change the password"
    case .deletionUnanswered: "the server sent no valid answer to the request to delete the account"
    case .unusableForm: "the server sent no usable registration form"
    case .noField: "the registration form has no field {1}"
    case .registerAt: "the server wants you to register at {1}"
    case .unaskedField: "the server does not ask for {1}, but for: {2}"
    case .oneValue: "{1} takes one value"
    case .oneOf: "{1} must be one of: {2}"
    case .missingFields: "the server also requires: {1}"
    case .missingFieldsAt: "the server also requires: {1}; see {2}"
    case .wrongDomain: "{1}: {2}"
    case .unknownCommandForm: "the server's command asks for unknown data"
    case .commandNotDone: "the server did not carry out the command"
    case .unusableCommandAnswer: "the server sent no valid answer to a command"
    case .unusableItems: "the server's answer is not a list of items"
    case .notPrivate: "the server cannot keep this private, so it was not published"
    case .refused: "the server refused: {1}"
    }
  }
}

extension ErrorReason {
  /// The reason for a sentence about a request.
  static func says(
    _ sentence: RequestSentence, _ arguments: any Sendable & CustomStringConvertible...
  ) -> ErrorReason {
    ErrorReason(sentence, of: arguments)
  }
}
