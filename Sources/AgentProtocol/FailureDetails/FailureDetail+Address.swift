extension FailureDetail {
  /// Details about JIDs, for the cases of `JIDError`.
  public enum Address: String, CaseIterable, Sendable {
    case localPart, domainPart, resourcePart
    case noDomain, emptyLocal, emptyResource, spaceAtEnd, tooLong, unchecked, mixedDirections, space,
      character
    case misplacedCharacter, notIPv6, nameTooLong, labelTooLong, emptyLabel, hyphenAtEnd, falseALabel, notIDN
    case empty, unstable

    public var sentence: Sentence {
      switch self {
      case .localPart: Sentence("local part", "本地部分")
      case .domainPart: Sentence("domain", "域名")
      case .resourcePart: Sentence("resource", "资源")
      case .noDomain: Sentence("no domain", "没有域名")
      case .emptyLocal: Sentence("there is nothing before the @", "@ 之前没有内容")
      case .emptyResource: Sentence("there is nothing after the /", "/ 之后没有内容")
      case .spaceAtEnd: Sentence("local part begins or ends with a space", "本地部分以空格开头或结尾")
      case .tooLong: Sentence("{1} is longer than {2} octets", "{1}超过 {2} 字节")
      case .unchecked:
        Sentence(
          "{1} cannot be checked: the Unicode tables are not usable",
          "无法检查{1}：Unicode 数据表不可用")
      case .mixedDirections:
        Sentence(
          "{1} mixes writing directions so that it can be read in more than one way",
          "{1}混用了书写方向，可能有多种读法")
      case .space: Sentence("{1} contains a space", "{1}含有空格")
      case .character: Sentence("{1} contains the character {2}", "{1}含有字符 {2}")
      case .misplacedCharacter:
        Sentence(
          "{1} contains the character {2} where it is not allowed",
          "{1}中的字符 {2} 出现在不允许的位置")
      case .notIPv6: Sentence("domain is not an IPv6 address in brackets", "域名不是方括号中的 IPv6 地址")
      case .nameTooLong: Sentence("domain is longer than {1} octets in DNS", "域名在 DNS 中超过 {1} 字节")
      case .labelTooLong:
        Sentence(
          "domain has a label of more than {1} octets in DNS",
          "域名中有标签在 DNS 中超过 {1} 字节")
      case .emptyLabel: Sentence("domain has an empty label", "域名中有空标签")
      case .hyphenAtEnd:
        Sentence(
          "domain has a label that begins or ends with a hyphen",
          "域名中有标签以连字符开头或结尾")
      case .falseALabel:
        Sentence(
          "domain has a label that looks like an A-label but is not one",
          "域名中有标签形似 A-label，却不是")
      case .empty: Sentence("{1} is empty", "{1}为空")
      case .unstable: Sentence("{1} changes each time it is normalised", "{1}每次规范化后都会改变")
      case .notIDN: Sentence("domain is not a valid internationalised domain name", "域名不是有效的国际化域名")
      }
    }
  }
}
