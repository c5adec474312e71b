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
    case .tooMany: "too many of this address lately"
    case .registrationClosed:
      "the server allows nobody to register by itself: ask whoever runs it for an account"
    case .passwordClosed: "the server allows nobody to change the password by itself: ask whoever runs it"
    case .deletionClosed: "the server allows nobody to delete the account by itself: ask whoever runs it"
    case .registrationNotAccepted: "the server does not accept what was sent to register"
    case .passwordNotAccepted: "the server does not accept what was sent to change the password"
    case .deletionNotAccepted: "the server does not accept what was sent to delete the account"
    case .registrationRefused: "the server refused to register"
    case .passwordRefused: "the server refused to change the password"
    case .deletionRefused: "the server refused to delete the account"
    case .registrationUnanswered: "the answer to the request to register is none"
    case .passwordUnanswered: "the answer to the request to change the password is none"
    case .deletionUnanswered: "the answer to the request to delete the account is none"
    case .unusableForm: "the server sent no registration form that makes sense"
    case .noField: "the registration form has no field {1}"
    case .registerAt: "the server wants you to register at {1}"
    case .unaskedField: "the server does not ask for {1}, but for: {2}"
    case .oneValue: "{1} takes one value"
    case .oneOf: "{1} must be one of: {2}"
    case .missingFields: "the server wants to know as well: {1}"
    case .missingFieldsAt: "the server wants to know as well: {1}; see {2}"
    case .wrongDomain: "{1}: {2}"
    case .unknownCommandForm: "the server's command wants what is not known"
    case .commandNotDone: "the server has not carried the command out"
    case .unusableCommandAnswer: "the server's answer to a command is none"
    case .unusableItems: "the server answers something else than items"
    case .notPrivate: "the server cannot keep this private: it is not published"
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
