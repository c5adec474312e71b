extension FailureDetail {
  /// Details about local files: accounts.json, the database, directories, and files of accounts to import.
  public enum Store: String, CaseIterable, Sendable {
    case symbolicLink, notFile, notDirectory, notOwned, openToOthers, writableByOthers, tooLarge, noHome
    case locked, laterVersion, incomplete, incompleteAt, wrongType, wrongTypeAt, wrongValueAt, notJSON
    case notUnderstood, notOurSocket
    case cannotOpen, readOnly, cannotCopy, upgradeFailed, usedByEarlierAgent, otherFile, logNotRead
    case damaged, outboxNotRead, nothingLost, lost, lostMore
    case notObjectOrList, importedAccount, importedTwice, notObject, notString, noAccount, noDomain, notJID
    case otherDomain, passwordsDiffer, notBoolean

    public var sentence: Sentence {
      switch self {
      case .symbolicLink: Sentence("a symbolic link", "是符号链接")
      case .notFile: Sentence("not a file", "不是文件")
      case .notDirectory: Sentence("not a directory", "不是目录")
      case .notOwned: Sentence("owned by another user", "属于其他用户")
      case .openToOthers: Sentence("open to other users", "其他用户可以访问")
      case .writableByOthers:
        Sentence(
          "other users can write it; check its contents, then run chmod 600 on it",
          "其他用户可以写入；请检查其内容，然后将权限设为 600（chmod 600）")
      case .tooLarge: Sentence("too large", "过大")
      case .noHome: Sentence("HOME is not set, and the user has no home directory", "没有设置 HOME，该用户也没有主目录")
      case .locked: Sentence("locked by another process", "已被另一个进程锁定")
      case .laterVersion: Sentence("made by a later version of imctl", "由更新版本的 imctl 创建")
      case .incomplete: Sentence("incomplete", "内容不完整")
      case .incompleteAt: Sentence("incomplete at {1}", "{1} 处的内容不完整")
      case .wrongType: Sentence("wrong type", "类型错误")
      case .wrongTypeAt: Sentence("wrong type at {1}", "{1} 处的类型错误")
      case .wrongValueAt: Sentence("wrong value at {1}", "{1} 处的值错误")
      case .notJSON: Sentence("not JSON", "不是 JSON")
      case .notUnderstood: Sentence("not understood", "无法理解")
      case .notOurSocket: Sentence("not a socket of this user", "不是本用户的套接字")
      case .cannotOpen: Sentence("cannot be opened", "无法打开")
      case .readOnly: Sentence("the file system is read-only", "文件系统不可写")
      case .cannotCopy: Sentence("it cannot be copied", "无法复制")
      case .upgradeFailed:
        Sentence(
          "{1}: the file was made by an earlier version of imctl, could not be upgraded, and is unchanged; "
            + "free space of twice its size is required",
          "{1}：它由较早版本的 imctl 创建，未能升级，仍保持原样；须有相当于其两倍大小的可用空间")
      case .usedByEarlierAgent:
        Sentence(
          "an agent of an earlier version uses it; `imctl agent restart` replaces that one",
          "较早版本的后台进程正在使用它；`imctl agent restart` 可将其替换")
      case .otherFile: Sentence("another file has replaced it", "它已被另一个文件取代")
      case .logNotRead:
        Sentence(
          "deleted data stays in its log until another process has finished reading",
          "在另一个进程读完之前，已删除的内容仍留在其日志中")
      case .damaged: Sentence("{1} was damaged and has been moved to {2}: {3}", "{1} 已损坏，现移至 {2}：{3}")
      case .outboxNotRead:
        Sentence("not all messages that waited to be sent could be read", "待发送的消息未能全部读出")
      case .nothingLost: Sentence("no message that waited to be sent was lost", "待发送的消息没有丢失")
      case .lost: Sentence("lost messages that waited to be sent: {1}", "待发送的消息中丢失了：{1}")
      case .lostMore:
        Sentence("lost messages that waited to be sent: {1} and {2} more", "待发送的消息中丢失了：{1} 及另外 {2} 条")
      case .notObjectOrList: Sentence("neither an object nor a list", "既不是对象，也不是列表")
      case .importedAccount: Sentence("account {1}: {2}", "第 {1} 个账号：{2}")
      case .importedTwice: Sentence("{1} occurs twice", "{1} 出现了两次")
      case .notObject: Sentence("not an object", "不是对象")
      case .notString: Sentence("{1} is not a string", "{1} 不是字符串")
      case .noAccount: Sentence("no account", "没有 account")
      case .noDomain: Sentence("{1} has no domain", "{1} 没有域名")
      case .notJID: Sentence("{1} is not a JID", "{1} 不是 JID")
      case .otherDomain: Sentence("{1} is not in the domain {2}", "{1} 不属于域名 {2}")
      case .passwordsDiffer: Sentence("password and passsword differ", "password 与 passsword 不一致")
      case .notBoolean: Sentence("isLogin is neither true nor false", "isLogin 既不是 true，也不是 false")
      }
    }
  }
}
