"""The preparation of ejabberd for serve.py."""
import json
import os
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def prepare(server):
    """Writes the configuration, and returns the command and the environment of the server."""
    options = server.options
    host = list(options["hostLines"])
    if options["authentication"] == "jwt":
        server.write("jwt.key", json.dumps({"kty": "oct", "k": options["jwtKey"]}))
        host += ["auth_method: jwt", "jwt_key: @DIRECTORY@/jwt.key"]
    if options["authentication"] == "external":
        with open(os.path.join(HERE, "external_auth.pl")) as file:
            server.write("external_auth.pl", file.read())
        server.write("passwords", "".join(f"{name}:{password}\n" for name, password in server.accounts.items()))
        host += ["auth_method: external",
                 'extauth_program: "/usr/bin/perl @DIRECTORY@/external_auth.pl @DIRECTORY@"', "auth_use_cache: false"]
    hosts = {server.domain: host}
    if options["anonymousDomain"]:
        hosts[options["anonymousDomain"]] = ["auth_method: anonymous", "anonymous_protocol: sasl_anon"]
    component = ["-", "  port: @COMPONENT_PORT@", '  ip: "127.0.0.1"', "  module: ejabberd_service",
                 "  hosts:", f"    {json.dumps(options['component'])}:", "      password: component-secret"]
    api = ["-", "  port: @COMPONENT_PORT@", '  ip: "127.0.0.1"', "  module: ejabberd_http", "  tls: true",
           "  request_handlers:", "    /api: mod_http_api"]
    permissions = ["api_permissions:", "  archive:", "    from: mod_http_api", "    who:", "      access:",
                   "        allow:", *(f"          - user: {json.dumps(f'{name}@{server.domain}')}" for name in options["apiUsers"]),
                   "    what: remove_mam_for_user_with_peer"]
    listeners = (component if options["component"] else []) + (api if options["apiUsers"] else [])
    listener = ["tls_verify: true"] if options["clientAuthority"] else []
    modules = {name.partition(":")[0]: name.partition(":")[2] or " {}" for name in options["extraModules"]}
    # The default of mod_mam announces an archive, but stores nothing in it.
    modules.setdefault("mod_mam", " {default: always}")
    modules.setdefault("mod_offline", " {}")
    if options["archiveInSQLite"]:
        modules["mod_mam"] = " {default: always, db_type: sql}"
        options["extraLines"] = [*options["extraLines"], "sql_type: sqlite",
                                 "sql_database: @DIRECTORY@/archive.sqlite"]
        if not server.is_newer:
            # The newer ejabberd creates the tables itself.
            with open("/usr/share/ejabberd/sql/lite.sql") as tables:
                with sqlite3.connect(server.path("archive.sqlite")) as database:
                    database.executescript(tables.read())
    if server.is_newer:
        modules.setdefault("mod_auth_fast", " {}")
        modules.setdefault("mod_scram_upgrade", " {}")
    if options["disabled"]:
        modules["mod_admin_extra"] = " {}"
    if options["registration"]:
        modules["mod_register"] = " {ip_access: all, access: all, registration_watchers: []}"
    config = server.fill(
        "ejabberd.yml", PASSWORD_FORMAT="scram" if options["passwordStore"] == "hashed" else "plain",
        HASH={"SHA-1": "sha", "SHA-256": "sha256", "SHA-512": "sha512"}[options["hash"]],
        HOSTS="\n".join("  - " + json.dumps(name) for name in hosts),
        HOST_CONFIG="\n".join(f"  {json.dumps(name)}:\n" + "\n".join("    " + line for line in lines)
                              for name, lines in hosts.items() if lines) or "  {}",
        NO_TLS13="    - no_tlsv1_3\n" if options["maximumTLS"] == "1.2" else "",
        CLIENTS="c2s_cafile: @DIRECTORY@/clients.pem" if options["clientAuthority"] else "",
        SESSIONS=options["maximumSessions"], COMPONENT="\n".join("  " + line for line in listeners),
        PERMISSIONS="\n".join(permissions) if options["apiUsers"] else "",
        LISTENER="\n".join("    " + line for line in listener),
        DENIED=json.dumps([f"{name}@{server.domain}" for name in options["denied"]] or ["nobody@invalid"]),
        MODULES="".join(f"  {name}:{value}\n" for name, value in modules.items()
                        if name not in options["withoutModules"]))
    server.write("inetrc", "{lookup, [file]}.\n{host, {127,0,0,1}, [\"localhost\"]}.\n"
                           "{file, hosts, \"/dev/null\"}.\n{file, resolv, \"/dev/null\"}.\n")
    # With a code path of our own and no node name, neither epmd nor Erlang's distribution listens.
    command = ["/usr/bin/erl", "-noinput", "-start_epmd", "false", "+S", "1:1", "+A", "4", "+sbwt", "none",
               "-mnesia", "dir", '"%s/mnesia"' % server.inside, "-eval", first_steps(server)]
    environment = {
        "EJABBERD_CONFIG_PATH": config, "EJABBERD_LOG_PATH": os.path.join(server.inside, "ejabberd.log"),
        "ERL_LIBS": LIBRARIES, "ERL_INETRC": os.path.join(server.inside, "inetrc"),
        "ERL_CRASH_DUMP": "/dev/null", "ERL_CRASH_DUMP_BYTES": "0", "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": server.inside,
        "SPOOL_DIR": os.path.join(server.inside, "mnesia"),
        "EJABBERD_PID_PATH": os.path.join(server.inside, "pid"),
    }
    return command, environment


def first_steps(server):
    """Returns Erlang code that starts ejabberd, creates the accounts and then creates a file as a signal."""
    options = server.options
    pairs = lambda values: "[" + ",".join(f"{{{binary(a)},{binary(b)}}}" for a, b in values.items()) + "]"
    # The accounts are in a file, because the command line has no room for a thousand of them.
    server.write("accounts", pairs(server.accounts) + ".\n")
    once = []
    if options["authentication"] == "internal":
        once.append("[ejabberd_auth:try_register(N,D,P)||{N,P}<-U]")
    # The groups are changed only in the store, since no clients are online that would have to be notified.
    once += ['mod_shared_roster:create_group(D,<<"friends">>,'
             '[{name,<<"Friends">>},{displayed_groups,[<<"friends">>]}])',
             '[mod_shared_roster_mnesia:add_user_to_group(D,{N,D},<<"friends">>)||'
             "N<-[" + ",".join(map(binary, server.friends)) + "]]"]
    if options["disabled"]:
        # The older function sets another password; the newer one reports the reason if the module's hooks are
        # installed.
        ban = "ban_account_v2" if server.is_newer else "ban_account"
        once.append(f"[mod_admin_extra:{ban}(N,D,R)||{{N,R}}<-{pairs(options['disabled'])}]")
    # These steps run only once. At a later start, clients may be online, and notifying them would take a minute.
    done = f"\"{server.inside}/accounts.done\""
    once += ["ok = mnesia:sync_log(), [dets:sync(T)||T<-dets:all()]", f'ok = file:write_file({done},"")']
    steps = ["{ok,_}=application:ensure_all_started(ejabberd)",
             f"D = {binary(server.domain)}, {{ok,[U]}} = file:consult(\"{server.inside}/accounts\")",
             f"case filelib:is_file({done}) of true -> ok; false -> {','.join(once)} end"]
    fast = {"token_lifetime": options["fastTokenLifetime"], "token_refresh_age": options["fastTokenRefreshAge"]}
    fast = ",".join(f"{name}=>{value}" for name, value in fast.items() if value is not None)
    if fast:
        # The module interprets the milliseconds of its configuration as seconds, and accepts no value below 1000.
        steps.append("true = ets:update_element(ejabberd_modules,{mod_auth_fast,D},"
                     "{3,maps:merge(gen_mod:get_module_opts(D,mod_auth_fast),#{%s})})" % fast)
    if options["bearerTokenLifetime"] is not None:
        steps.append(
            "T = [begin {K,_,_}=ejabberd_oauth:oauth_issue_token(binary_to_list(<<N/binary,$@,D/binary>>),"
            "%d,\"sasl_auth\"), [N,32,K,10] end||{N,_}<-U], ok = file:write_file(\"%s/tokens\",T)"
            % (options["bearerTokenLifetime"], server.inside))
    if options["archiveInSQLite"]:
        # The data need not survive, so that no message has to wait for the disk.
        steps.append('ejabberd_sql:sql_query(D, <<"PRAGMA synchronous = OFF">>)')
    # Evaluates the content of the file "order", and writes the result to "order.done".
    steps.append(
        'spawn(fun Obey() -> case file:script("%s/order") of {error,enoent} -> ok; V ->'
        ' file:delete("%s/order"), ok = file:write_file("%s/order.part",io_lib:format("~p",[V])),'
        ' ok = file:rename("%s/order.part","%s/order.done") end, timer:sleep(50), Obey() end)'
        % ((server.inside,) * 5))
    steps.append(f'ok = file:write_file("{server.inside}/started","")')
    return ",".join(steps) + "."


def binary(text):
    """Writes a string as an Erlang binary in UTF-8."""
    return "<<" + ",".join(str(byte) for byte in text.encode()) + ">>"
