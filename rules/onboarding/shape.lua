-- The shape of the states: that of users, and at the end that of areas by earlier rules, until their next stamp.
state {
  version = 2,
  name = "string?", locale = "string?", time_zone = "string?", secret = "string?: signs what others are told",
  signed_up_at = "number?: epoch seconds", welcomed = "boolean?", welcome_dismissed = "boolean?",
  notifications = "array?: oldest first", stamps = "array?: in the order of claiming",
  first_claim_at = "number?", welcome_claimed_at = "number?", week = "integer?: the Monday of the last week of use",
  bell_week = "integer?: that of the last week with the bell", counted_bell_week = "integer?",
  areas = "array?: those that the user is in, in the order of entering",
  unjoined = "boolean?: does not hear yet of others' deleted accounts",
  members = "object?", count = "integer?", annex = "boolean?",
}

migrate { [2] = {
  up   = function(old)
    old.unjoined = old.notifications ~= nil or nil
    return old
  end,
  down = function(new)
    new.unjoined = nil
    return new
  end,
} }
