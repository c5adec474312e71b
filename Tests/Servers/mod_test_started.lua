-- Issues a bearer token to each account where the configuration wants it, and leaves a file when all is ready.
local directory = module:get_option_string("test_directory");
local lifetime = module:get_option_number("test_token_lifetime");

module:hook_global("server-started", function ()
	if lifetime then
		local tokens = module:depends("tokenauth");
		local file = assert(io.open(directory.."/tokens", "w"));
		for username in require "core.usermanager".users(module.host) do
			local jid = username.."@"..module.host;
			local grant = assert(tokens.create_grant(jid, jid));
			file:write(username, " ", assert(tokens.create_token(jid, grant, nil, lifetime, "oauth2")), "\n");
		end
		file:close();
	end
	assert(io.open(directory.."/started", "w")):close();
end);
