import GRDB

/// The tables of the database, with every migration since the first version.
enum Schema {
  /// All migrations in order. A released migration is never changed.
  ///
  /// - Parameter progress: called with the progress of long migrations, from 0 to 1.
  static func migrator(progress: @escaping @Sendable (Double) -> Void = { _ in }) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("meta") { database in
      try database.create(table: "meta", options: [.strict, .withoutRowID]) { table in
        table.primaryKey("key", .text)
        table.column("value", .any)
      }
    }
    migrator.registerMigration("messages", migrate: createMessages)
    migrator.registerMigration("search", migrate: createSearch)
    migrator.registerMigration("archiveGaps", migrate: createArchiveGaps)
    migrator.registerMigration("contacts", migrate: createContacts)
    migrator.registerMigration("receipts", migrate: createReceipts)
    migrator.registerMigration("insertions") {
      // `StoredMessage` assigns places and updates the index. A trigger would make SQLite keep a journal for each
      // insertion and end a segment of the index with each.
      try $0.execute(sql: "DROP TRIGGER messageInserted")
    }
    migrator.registerMigration("deviceEvents", migrate: createDeviceEvents)
    migrator.registerMigration("retractions", migrate: createRetractions)
    migrator.registerMigration("conversations", migrate: createConversations)
    migrator.registerMigration("receiptWishes") {
      try $0.execute(sql: "ALTER TABLE outbox ADD COLUMN asksReceipt INTEGER NOT NULL DEFAULT 1")
    }
    migrator.registerMigration("lookAlikes") {
      try $0.execute(sql: "ALTER TABLE contactEvents ADD COLUMN looksLike TEXT")
    }
    migrator.registerMigration("refusals") {
      try $0.execute(
        sql: """
          ALTER TABLE messages ADD COLUMN refusal TEXT;
          ALTER TABLE messages ADD COLUMN refusalText TEXT;
          UPDATE messages SET refusal = receipts.condition, refusalText = receipts.text FROM receipts
          WHERE receipts.kind = 'failed' AND messages.account = receipts.account
            AND messages.sender = receipts.account AND messages.originID = receipts.id;
          """)
    }
    migrator.registerMigration("corrections") {
      try $0.execute(sql: "ALTER TABLE outbox ADD COLUMN replaces TEXT")
    }
    migrator.registerMigration("threads") {
      try $0.execute(
        sql: "CREATE INDEX messagesByThread ON messages (account, thread, place) WHERE thread IS NOT NULL")
    }
    migrator.registerMigration("copies", migrate: addCopies)
    migrator.registerMigration(oneRow) { try mergeOutbox($0, progress) }
    return migrator
  }

  private static func createMessages(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE messages (
          cursor INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          direction INTEGER NOT NULL,
          sender TEXT NOT NULL,
          time REAL NOT NULL,
          id TEXT, originID TEXT, archiveID TEXT,
          fromJID TEXT, toJID TEXT,
          type TEXT NOT NULL,
          body TEXT, subject TEXT, thread TEXT,
          isCarbon INTEGER NOT NULL, isDelayed INTEGER NOT NULL, isEncrypted INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX messagesByArchiveID ON messages (account, archiveID) WHERE archiveID IS NOT NULL;
        CREATE UNIQUE INDEX messagesByOriginID ON messages (account, sender, originID) WHERE originID IS NOT NULL;
        CREATE TABLE outbox (
          position INTEGER PRIMARY KEY AUTOINCREMENT,
          account TEXT NOT NULL,
          id TEXT NOT NULL,
          toJID TEXT NOT NULL,
          type TEXT NOT NULL,
          body TEXT, subject TEXT, thread TEXT,
          accepted REAL NOT NULL,
          isSent INTEGER NOT NULL,
          since TEXT,
          UNIQUE (account, id)
        ) STRICT;
        CREATE TABLE streams (
          account TEXT PRIMARY KEY,
          resumption TEXT,
          archivePosition TEXT
        ) STRICT, WITHOUT ROWID;
        """)
  }

  /// Creates the columns and the index for finding messages:
  /// - `place` is the order of messages: by time, then by storage. Messages fetched backwards, under cursors below 0,
  ///   come before the stored ones of the same time. Some archives have a resolution of seconds: their messages come
  ///   after all others of the second, or before them.
  /// - `peer` is the conversation: the bare JID of the other side, or the full JID of another device of the account.
  /// - `search` is a full-text index, which triggers keep up to date.
  private static func createSearch(_ database: Database) throws {
    func millisecond(_ time: String) -> String { "CAST(min(max(\(time), 0), 8e9) * 1000 AS INTEGER)" }
    let first = "\(millisecond("new.time")) * \(LocalStore.placesPerMillisecond)"
    let length = "CASE WHEN new.time = CAST(new.time AS INTEGER) THEN 1000 ELSE 1 END"
    let alike = """
      FROM messages WHERE place >= \(first) AND place < \(first) + \(length) * \(LocalStore.placesPerMillisecond)
      """
    let middle = LocalStore.placesPerMillisecond / 2
    try database.execute(
      sql: """
        ALTER TABLE messages ADD COLUMN place INTEGER;
        ALTER TABLE messages ADD COLUMN peer TEXT GENERATED ALWAYS AS (\(LocalStore.peer)) VIRTUAL;
        UPDATE messages SET place = ordered.place FROM (
          SELECT cursor, \(millisecond("time")) * \(LocalStore.placesPerMillisecond) + \(middle) - 1
            + row_number() OVER (PARTITION BY \(millisecond("time")) ORDER BY cursor) AS place FROM messages
        ) AS ordered WHERE ordered.cursor = messages.cursor;
        CREATE UNIQUE INDEX messagesByPlace ON messages (place);
        CREATE INDEX messagesByPeer ON messages (account, peer, place);
        CREATE VIRTUAL TABLE search USING fts5(
          body, subject, content = 'messages', content_rowid = 'place', columnsize = 0,
          tokenize = 'unicode61 remove_diacritics 2');
        INSERT INTO search (search) VALUES ('rebuild');
        CREATE TRIGGER messageInserted AFTER INSERT ON messages BEGIN
          UPDATE messages SET place = CASE WHEN new.cursor < 0
            THEN coalesce((SELECT min(place) \(alike)), \(first) + \(middle)) - 1
            ELSE coalesce((SELECT max(place) \(alike)), \(first) + \(middle) - 1) + 1 END
          WHERE cursor = new.cursor;
          INSERT INTO search (rowid, body, subject)
            SELECT place, body, subject FROM messages WHERE cursor = new.cursor AND place IS NOT NULL;
        END;
        CREATE TRIGGER messageDeleted AFTER DELETE ON messages WHEN old.place IS NOT NULL BEGIN
          INSERT INTO search (search, rowid, body, subject)
            VALUES ('delete', old.place, old.body, old.subject);
        END;
        CREATE TRIGGER messageChanged AFTER UPDATE OF body, subject ON messages WHEN old.place IS NOT NULL BEGIN
          INSERT INTO search (search, rowid, body, subject)
            VALUES ('delete', old.place, old.body, old.subject);
          INSERT INTO search (rowid, body, subject) VALUES (new.place, new.body, new.subject);
        END;
        """)
  }

  private static func createArchiveGaps(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE gaps (
          number INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          after TEXT NOT NULL,
          before TEXT NOT NULL,
          UNIQUE (account, before)
        ) STRICT;
        ALTER TABLE streams ADD COLUMN archiveStart TEXT;
        """)
  }

  private static func createContacts(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE contacts (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          name TEXT,
          subscription TEXT NOT NULL,
          isAsked INTEGER NOT NULL, isApproved INTEGER NOT NULL,
          groups TEXT NOT NULL,
          PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE rosters (
          account TEXT PRIMARY KEY,
          version TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE blocked (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE subscriptionRequests (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          received REAL NOT NULL,
          text TEXT,
          PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        """)
    try createContactEvents(database)
  }

  private static func createContactEvents(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE contactEvents (
          cursor INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          time REAL NOT NULL,
          action TEXT NOT NULL, jid TEXT NOT NULL, actor TEXT, text TEXT
        ) STRICT;
        CREATE INDEX contactEventsByAccount ON contactEvents (account, cursor);
        CREATE TABLE forgottenContactEvents (account TEXT PRIMARY KEY, cursor INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """)
  }

  private static func createReceipts(_ database: Database) throws {
    try database.execute(
      sql: """
        ALTER TABLE messages ADD COLUMN replaces TEXT;
        ALTER TABLE messages ADD COLUMN retracts TEXT;
        ALTER TABLE messages ADD COLUMN isFromOutbox INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX messagesByID ON messages (account, sender, id) WHERE id IS NOT originID;
        CREATE TABLE receipts (
          cursor INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          id TEXT NOT NULL,
          kind TEXT NOT NULL,
          who TEXT NOT NULL,
          fromJID TEXT NOT NULL,
          time REAL NOT NULL,
          condition TEXT, text TEXT,
          UNIQUE (account, id, kind, who)
        ) STRICT;
        CREATE TABLE addressees (
          account TEXT NOT NULL, jid TEXT NOT NULL, PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO addressees (account, jid)
          SELECT DISTINCT account,
            CASE instr(toJID, '/') WHEN 0 THEN toJID ELSE substr(toJID, 1, instr(toJID, '/') - 1) END
          FROM messages WHERE direction = 1 AND toJID IS NOT NULL;
        """)
  }

  private static func createDeviceEvents(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE deviceEvents (
          cursor INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          time REAL NOT NULL,
          action TEXT NOT NULL, jid TEXT NOT NULL, actor TEXT, name TEXT
        ) STRICT;
        CREATE INDEX deviceEventsByAccount ON deviceEvents (account, cursor);
        CREATE TABLE forgottenDeviceEvents (account TEXT PRIMARY KEY, cursor INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """)
  }

  private static func createRetractions(_ database: Database) throws {
    try database.execute(
      sql: """
        ALTER TABLE messages ADD COLUMN isRetracted INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX messagesByRetracted ON messages (account, sender, retracts) WHERE retracts IS NOT NULL;
        CREATE INDEX messagesByReplaced ON messages (account, sender, replaces) WHERE replaces IS NOT NULL;
        """)
    let rows = try Row.fetchAll(
      database, sql: "SELECT account, sender, retracts FROM messages WHERE retracts IS NOT NULL")
    for row in rows {
      try database.execute(
        sql: """
          UPDATE messages SET body = NULL, subject = NULL, isRetracted = 1
          WHERE retracts IS NULL AND cursor IN (
            SELECT cursor FROM messages WHERE account = ?1 AND sender = ?2 AND originID = ?3 UNION ALL
            SELECT cursor FROM messages WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID UNION ALL
            SELECT cursor FROM messages WHERE account = ?1 AND sender = ?2 AND replaces = ?3)
          """, arguments: [row["account"], row["sender"], row["retracts"]])
    }
  }

  /// - `readPlace` is the place of the last read message, `displayed` its archive ID, which may arrive before the
  ///   message.
  /// - `conversationEdits` holds the changes by commands that the server does not have.
  /// - `sharing` holds the accounts whose nodes were read.
  private static func createConversations(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE conversations (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          isPinned INTEGER NOT NULL DEFAULT 0,
          notification TEXT,
          marks TEXT NOT NULL DEFAULT '',
          hiddenBefore REAL,
          isDeleted INTEGER NOT NULL DEFAULT 0,
          readPlace INTEGER,
          displayed TEXT,
          PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE conversationEdits (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          kind TEXT NOT NULL,
          value TEXT NOT NULL,
          PRIMARY KEY (account, jid, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE bookmarks (
          account TEXT NOT NULL,
          jid TEXT NOT NULL,
          name TEXT, nick TEXT, password TEXT,
          joins INTEGER NOT NULL,
          PRIMARY KEY (account, jid)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE sharing (account TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        """)
    try createConversationEvents(database)
  }

  private static func createConversationEvents(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE conversationEvents (
          cursor INTEGER PRIMARY KEY,
          account TEXT NOT NULL,
          time REAL NOT NULL,
          action TEXT NOT NULL, jid TEXT NOT NULL, actor TEXT NOT NULL, marks TEXT
        ) STRICT;
        CREATE INDEX conversationEventsByAccount ON conversationEvents (account, cursor);
        CREATE TABLE forgottenConversationEvents (account TEXT PRIMARY KEY, cursor INTEGER NOT NULL)
          STRICT, WITHOUT ROWID;
        """)
  }

  private static func addCopies(_ database: Database) throws {
    try database.execute(
      sql: """
        ALTER TABLE messages ADD COLUMN copies INTEGER;
        ALTER TABLE messages ADD COLUMN secondArchiveID TEXT;
        CREATE INDEX messagesToOneself ON messages (account, time) WHERE copies IS NOT NULL;
        CREATE UNIQUE INDEX messagesBySecondArchiveID ON messages (account, secondArchiveID)
          WHERE secondArchiveID IS NOT NULL;
        """)
  }
}
