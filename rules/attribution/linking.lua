-- When somebody signs in, the attribution moves from the device to that user. The device joins the user's topic, by
-- which it hears of the end of the account, even if somebody else signs in later.

local conversions = require "conversions"
local fields = require "fields"
local subjects = require "subjects"

local linking = {}

local function tell(state, user, attribution)
  send(subjects.of_user(user), plugin.name .. ".linked", {
    attribution = attribution, facebook = attribution and state.facebook, att_status = state.att_status,
  })
  state.told_status, state.unheard = state.att_status, (state.unheard or 0) + 1
end

--- Takes a user off the device, which hears no more of that account, and forgets what it brought.
function linking.part(state, user)
  topic.leave(subjects.of_user(user))
  if state.attributed_to ~= user then return end
  conversions.forget_origin(state)
  state.attributed_to = nil
end

-- Whether the user is another one than before. The device parts from its first user, where there would be too many.
local function belong(state, user)
  state.signed_out = nil
  if state.user == user then return false end
  local first
  state.users, first = fields.with(state.users, user, settings.users_kept)
  if first then linking.part(state, first) end
  topic.join(subjects.of_user(user))
  state.user, state.user_facebook = user, state.attributed_to == user and state.facebook or nil
  return true
end

--- Records whether somebody is signed in, where the event says so. After a logout nobody is known to be there until one
--- is named.
function linking.hear(event, state)
  state.authenticated = fields.flag(fields.data(event).authenticated, state.authenticated)
  if state.authenticated == false then state.signed_out = true end
end

--- Moves the attribution to the user. The device keeps whether it was Facebook's, whose it was, its user, and what
--- AppInstall needs.
function linking.link(state, user)
  local is_new = belong(state, user)
  if not is_new and not state.attribution and state.told_status == state.att_status then return end
  conversions.keep_for_install(state)
  if state.attribution then state.attributed_to, state.user_facebook = user, state.facebook or nil end
  tell(state, user, state.attribution)
  state.attribution = nil
end

local function account(state) return not state.signed_out and state.user or nil end

--- A launch or a return to the foreground links with somebody who is signed in: whom it names, or the account that is
--- there, whose sign-in came before the first launch. Else a status that has changed in the phone's settings is told to
--- that account.
function linking.follow(event, state)
  local user, there = subjects.user_in(event), account(state)
  if state.authenticated and (user or there) then return linking.link(state, user or there) end
  if there and state.told_status ~= state.att_status then tell(state, there) end
end

--- Records an answer with the user whom it names, else with the account that is there.
function linking.tell_answer(event, state)
  local user = event.data.authenticated ~= false and subjects.user_in(event) or account(state)
  if not user then return end
  belong(state, user)
  tell(state, user)
end

--- On a device: its user, who sent the message, came from Facebook.
function linking.attributed(event, state)
  if state.user == subjects.id("user:", event.sender) then state.user_facebook = true end
end

--- On a device: a user, who sent the message, has heard of a link.
function linking.heard(event, state)
  if not state.unheard then return end
  state.unheard = state.unheard > 1 and state.unheard - 1 or nil
  if event.data.facebook then linking.attributed(event, state) end
end

--- Whether the account that is there came from Facebook; while nobody is there, whether the device did, and also while
--- its attribution has not moved to anybody.
function linking.is_facebook(state)
  if account(state) and state.attributed_to then return state.user_facebook end
  return account(state) and state.user_facebook or state.facebook
end

return linking
