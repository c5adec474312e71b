-- Issues a bearer token to each account if configured, and creates a file when the server is ready. Afterwards,
-- evaluates the content of the file "order", and writes the result to "order.done".
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
	module:add_timer(0.05, function ()
		local order = io.open(directory.."/order");
		if not order then return 0.05; end
		local text = order:read("*a");
		order:close();
		os.remove(directory.."/order");
		local code, why = load(text, "order", "t", setmetatable({ prosody = prosody }, { __index = _G }));
		local _, value = pcall(code or function () error(why) end);
		local answer = assert(io.open(directory.."/order.part", "w"));
		answer:write(tostring(value));
		answer:close();
		os.rename(directory.."/order.part", directory.."/order.done");
		return 0.05;
	end);
end);
