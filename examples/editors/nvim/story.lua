-- Plays wharf.lua against three servers, without a person and a screen, and writes what it sees. A test
-- of Wharf compares that with what the other editors see:
--
--   nvim --headless -u NONE -i NONE '+luafile story.lua' '+qa!'
--
-- KILLED names the file with the process id of the server everything, SEEN the file that it writes.
local wharf = dofile('wharf.lua')
local everything, shown, states, events = 'everything', {}, {}, {}

local function say(...) vim.fn.writefile({ string.format(...) }, vim.env.SEEN, 'a') end

local function await(what, condition)
  if not vim.wait(60000, condition, 5) then error('waited in vain for ' .. what) end
end

-- The person: opens pages, says how he is called, and leaves all else as it is.
vim.notify = function(text) table.insert(shown, text) end
vim.ui.select = function(items, _, done) done(items[1]) end
vim.ui.input = function(field, done) done(field.default == '' and field.prompt == 'String: ' and 'Ada Lovelace' or field.default) end

local open_url = wharf.answers.openUrl
wharf.answers.openUrl = function(page, reply)
  say('page: %s signs in: %s', page.server, page.signIn)
  open_url(page, reply)
end

local ended
local w = wharf.setup({
  on_event = function(e)
    if e.kind == 'server.state' and e.server == everything then
      table.insert(states, e.state.state .. ' ' .. e.state.reason)
    end
    table.insert(events, e)
  end,
  on_exit = function(status) ended = status end,
})

local function request(method, params)
  local answer
  w:request(method, params, function(err, result) answer = { err = err, result = result } end)
  await(method, function() return answer end)
  return answer.result, answer.err
end

local function call(server, tool, arguments, progress)
  local answer
  local id = w:call(server, tool, arguments, function(err, result) answer = { err = err, result = result } end, progress)
  return id, function()
    await(tool, function() return answer end)
    return answer.result, answer.err
  end
end

local function text(result) return result.content[#result.content].text end

-- list
local names = vim.tbl_map(function(s) return s.name .. ' ' .. s.state end, request('servers/list', {}).servers)
say('servers: %s', table.concat(names, ', '))

-- start
local started = request('servers/start', { server = everything })
say('started: %s %s', started.name, started.state)

-- call with progress
local steps = {}
local _, finish = call(everything, 'trigger-long-running-operation', { duration = 0.4, steps = 2 }, function(p)
  table.insert(steps, p.progress .. ' of ' .. p.total)
end)
say('result: %s', text(finish()))
say('progress: %s', table.concat(steps, ', '))

-- cancel
local begun
local id, refused = call(everything, 'trigger-long-running-operation', { duration = 60, steps = 600 }, function() begun = true end)
await('progress', function() return begun end)
w:cancel(id)
local _, err = refused()
say('cancelled: %d %s', err.code, err.data.kind)

-- form
_, finish = call(everything, 'trigger-elicitation-request', {})
local filled = finish()
say('form: %s', filled.content[2].text:match('Name: [^\n]*'))

-- sign-in, by a call that needs it
_, finish = call('notes', 'whoami', {})
say('signed in: %s', text(finish()))

-- restart
states = {}
vim.loop.kill(tonumber(vim.fn.readfile(vim.env.KILLED)[1]), 'sigkill')
local function left() return vim.tbl_filter(function(s) return s ~= 'connected ready' end, states)[1] end
await('the end of the server', left)
say('killed: %s %s', everything, left())
await('the server', function() return states[#states] == 'connected ready' end)
shown = {}
vim.cmd([[WharfCall everything echo {"message": "again"}]])
await('the message', function() return #shown > 0 end)
say('back: %s', shown[1])

-- event
events = {}
request('resources/subscribe', { server = 'demo', uri = 'demo://clock' })
local function updated() return vim.tbl_filter(function(e) return e.kind == 'resource.updated' end, events)[1] end
await('an event', updated)
say('event: %s of %s', updated().uri, updated().server)

w:close()
await('the end of Wharf', function() return ended end)
say('ended: %d', ended)
