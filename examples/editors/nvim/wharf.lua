-- MCP servers in Neovim through Wharf: a client of the control protocol (docs/CONTROL.md), in lines of
-- JSON. All functions that it calls run on the main loop, and may use all of Neovim.
local M = {}
local Wharf = {}
Wharf.__index = Wharf

--- Starts Wharf. options.on_event gets each event, options.on_exit the status of a program that has ended.
function M.open(options)
  options = options or {}
  local self = setmetatable({ last = 0, rest = {}, waiting = {}, progress = {}, on_event = options.on_event, on_exit = options.on_exit }, Wharf)
  self.job = vim.fn.jobstart(options.command or { 'wharf', 'control' }, {
    on_stdout = function(_, pieces) self:read(pieces) end,
    on_exit = function(_, status) vim.schedule(function() self:ended(status) end) end,
  })
  local can = {}
  for question in pairs(M.answers) do can[question] = true end
  self:request('initialize', { protocol = { 1, 1 }, client = { name = 'nvim' }, capabilities = can }, M.report)
  self:request('events/since', {}, M.report) -- no need to wait for an answer before the next request
  return self
end

--- Ends Wharf, and with it the servers that no other editor uses.
function Wharf:close() vim.fn.chanclose(self.job, 'stdin') end

--- Sends a request, and returns its id. done gets the error or nil, and the result.
function Wharf:request(method, params, done)
  self.last = self.last + 1
  self.waiting[self.last] = done or M.report
  self:send({ id = self.last, method = method, params = params })
  return self.last
end

--- Calls a tool, and returns the id of the call. progress gets { progress = 1, total = 2, message = … }.
function Wharf:call(server, tool, arguments, done, progress)
  self.progress[self.last + 1] = progress
  local params = { server = server, name = tool, arguments = arguments, progress = progress and self.last + 1 }
  return self:request('tools/call', params, done)
end

--- Cancels a request. It is answered all the same, with the code -32800 if nothing else came first.
function Wharf:cancel(id) self:send({ method = '$/cancelRequest', params = { id = id } }) end

function Wharf:send(message)
  message.jsonrpc = '2.0'
  vim.fn.chansend(self.job, vim.fn.json_encode(message) .. '\n')
end

-- The pieces are what is between line ends. The first goes on where the last one before has ended.
function Wharf:read(pieces)
  for i, piece in ipairs(pieces) do
    if i > 1 then
      local line = table.concat(self.rest)
      self.rest = {}
      vim.schedule(function() self:take(vim.fn.json_decode(line)) end)
    end
    table.insert(self.rest, piece)
  end
end

function Wharf:take(m)
  if m.method == 'event' then
    if self.on_event then self.on_event(m.params) end
  elseif m.method == '$/progress' then
    local progress = self.progress[m.params.token]
    if progress then progress(m.params.value) end
  elseif m.method and m.id then
    M.answers[m.method](m.params, function(result) self:send({ id = m.id, result = result }) end)
  elseif m.id then
    local done = self.waiting[m.id]
    self.waiting[m.id], self.progress[m.id] = nil, nil
    if done then done(m.error, m.result) else M.report(m.error) end
  end
end

function Wharf:ended(status)
  for _, done in pairs(self.waiting) do done({ message = 'Wharf has ended' }) end
  if self.on_exit then self.on_exit(status) end
end

--- Shows the error of a request, if there is one.
function M.report(err)
  if err then vim.notify(err.message .. '\n' .. (err.data and err.data.hint or ''), vim.log.levels.ERROR) end
end

-- Asks for one field of a form. done gets nil if the person gave up.
local function ask(label, field, done)
  local choices = field.enum or field.oneOf or (field.type == 'boolean' and { true, false })
  if choices then
    local function title(choice) return type(choice) == 'table' and choice.title or tostring(choice) end
    return vim.ui.select(choices, { prompt = label, format_item = title }, function(choice)
      if type(choice) == 'table' then choice = choice.const end
      done(choice)
    end)
  end
  local list = field.type == 'array'
  local default = list and table.concat(field.default or {}, ',') or tostring(field.default or '')
  vim.ui.input({ prompt = label .. ': ', default = default }, function(text)
    if list and text then return done(vim.split(text, ',', { trimempty = true })) end
    done((field.type == 'number' or field.type == 'integer') and tonumber(text) or text)
  end)
end

-- Asks for the fields of a form from the one with a number on. What is left empty is left out.
local function fill(form, number, content, reply)
  local name = form.fields[number]
  if not name then return reply({ action = 'accept', content = content }) end
  local field = form.requestedSchema.properties[name]
  ask(field.title or name, field, function(value)
    if value == nil then return reply({ action = 'cancel' }) end
    if value ~= '' then content[name] = value end
    fill(form, number + 1, content, reply)
  end)
end

local function browse(url)
  local open = vim.env.BROWSER or (vim.fn.has('mac') == 1 and 'open' or 'xdg-open')
  vim.fn.jobstart({ open, url }, { detach = true })
end

--- What Wharf asks, by its name. An answer may come at any time; replace those that your plugin does better.
M.answers = {
  elicit = function(form, reply)
    vim.notify(form.server .. ' asks: ' .. form.message)
    fill(form, 1, vim.empty_dict(), reply)
  end,
  openUrl = function(page, reply)
    local prompt = page.message .. ' Open ' .. page.url .. ' ?'
    vim.ui.select({ 'open', 'do not open' }, { prompt = prompt }, function(choice)
      if choice == 'open' then browse(page.url) end
      reply({ action = choice == 'open' and 'accept' or choice and 'decline' or 'cancel' })
    end)
  end,
  prompt = function(question, reply)
    local read = question.secret and vim.fn.inputsecret or vim.fn.input
    local text = read(question.label .. ': ')
    reply({ action = text == '' and 'cancel' or 'accept', text = text })
  end,
  approve = function(server, reply)
    local prompt = table.concat(server.lines, '\n')
    vim.ui.select({ 'not-now', 'once', 'always', 'never' }, { prompt = prompt }, function(choice)
      reply({ decision = choice or 'not-now' })
    end)
  end,
  roots = function(_, reply) reply({ roots = { { uri = vim.uri_from_fname(vim.fn.getcwd()) } } }) end,
}

--- Starts Wharf, and defines :WharfServers, :WharfCall SERVER TOOL [JSON] and :WharfCancel.
function M.setup(options)
  local wharf, last = M.open(options), nil
  local command = vim.api.nvim_create_user_command
  command('WharfServers', function()
    wharf:request('servers/list', {}, function(err, list)
      M.report(err)
      for _, s in ipairs(list and list.servers or {}) do vim.notify(s.name .. ' ' .. s.state) end
    end)
  end, {})
  command('WharfCall', function(c)
    local server, tool, json = c.args:match('^(%S+)%s+(%S+)%s*(.*)$')
    last = wharf:call(server, tool, vim.fn.json_decode(json == '' and '{}' or json), function(err, result)
      M.report(err)
      for _, part in ipairs(result and result.content or {}) do vim.notify(part.text or part.type) end
    end, function(p) vim.notify(('%s %g of %g'):format(tool, p.progress, p.total or 0)) end)
  end, { nargs = '+' })
  command('WharfCancel', function() wharf:cancel(last) end, {})
  return wharf
end

return M
