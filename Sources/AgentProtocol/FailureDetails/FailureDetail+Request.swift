extension FailureDetail {
  /// Details about a server's answers: registration, commands and private data.
  public enum Request: String, CaseIterable, Sendable {
    case accountExists, tooMany, registrationClosed, passwordClosed, deletionClosed
    case registrationNotAccepted, passwordNotAccepted, deletionNotAccepted, registrationRefused
    case passwordRefused, deletionRefused, registrationUnanswered, passwordUnanswered
    case deletionUnanswered, unusableForm, noField, registerAt, unaskedField, oneValue, oneOf
    case missingFields, missingFieldsAt, wrongDomain, unknownCommandForm, commandNotDone
    case unusableCommandAnswer, unusableItems, notPrivate, refused

    public var sentence: Sentence {
      switch self {
      case .accountExists:
        Sentence("this account exists already: choose another name", "该账号已存在：请换一个名称")
      case .tooMany: Sentence("too many requests from this address recently", "该地址近来请求过多")
      case .registrationClosed:
        Sentence(
          "the server does not allow users to register: ask its administrator for an account",
          "服务器不允许自行注册：请向服务器管理员申请账号")
      case .passwordClosed:
        Sentence(
          "the server does not allow users to change the password: ask its administrator",
          "服务器不允许自行更改密码：请联系服务器管理员")
      case .deletionClosed:
        Sentence(
          "the server does not allow users to delete the account: ask its administrator",
          "服务器不允许自行删除账号：请联系服务器管理员")
      case .registrationNotAccepted:
        Sentence("the server does not accept the registration data", "服务器不接受为注册发送的内容")
      case .passwordNotAccepted:
        Sentence("the server does not accept the data for changing the password", "服务器不接受为更改密码发送的内容")
      case .deletionNotAccepted:
        Sentence("the server does not accept the data for deleting the account", "服务器不接受为删除账号发送的内容")
      case .registrationRefused: Sentence("the server refused the registration", "服务器拒绝注册")
      case .passwordRefused: Sentence("the server refused to change the password", "服务器拒绝更改密码")
      case .deletionRefused: Sentence("the server refused to delete the account", "服务器拒绝删除账号")
      case .registrationUnanswered:
        Sentence("the server sent no valid answer to the registration request", "对注册请求的应答无效")
      case .passwordUnanswered:
        Sentence("the server sent no valid answer to the request to change the password", "对更改密码请求的应答无效")
      case .deletionUnanswered:
        Sentence("the server sent no valid answer to the request to delete the account", "对删除账号请求的应答无效")
      case .unusableForm:
        Sentence("the server sent no usable registration form", "服务器发送的注册表单无法使用")
      case .noField: Sentence("the registration form has no field {1}", "注册表单没有字段 {1}")
      case .registerAt: Sentence("the server wants you to register at {1}", "服务器要求在 {1} 注册")
      case .unaskedField:
        Sentence("the server does not ask for {1}, but for: {2}", "服务器不要求 {1}，而要求：{2}")
      case .oneValue: Sentence("{1} takes one value", "{1} 只接受一个值")
      case .oneOf: Sentence("{1} must be one of: {2}", "{1} 须为以下之一：{2}")
      case .missingFields: Sentence("the server also requires: {1}", "服务器还要求填写：{1}")
      case .missingFieldsAt:
        Sentence("the server also requires: {1}; see {2}", "服务器还要求填写：{1}；详见 {2}")
      case .wrongDomain: Sentence("{1}: {2}", "{1}：{2}")
      case .unknownCommandForm:
        Sentence("the server's command asks for unknown data", "服务器的命令要求未知的内容")
      case .commandNotDone: Sentence("the server did not carry out the command", "服务器没有执行该命令")
      case .unusableCommandAnswer:
        Sentence("the server sent no valid answer to a command", "服务器对命令的应答无效")
      case .unusableItems: Sentence("the server's answer is not a list of items", "服务器应答的不是条目")
      case .notPrivate:
        Sentence("the server cannot keep this private, so it was not published", "服务器无法保证其私密性：未予发布")
      case .refused: Sentence("the server refused: {1}", "服务器拒绝了请求：{1}")
      }
    }
  }
}
