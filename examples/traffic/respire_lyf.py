"""Respire LYF, the app of the plugin deeplinks: links of campaigns that open the app."""

CAMPAIGNS = [
    ("paywall", "youtube", "video", "video1"), ("", "facebook", "social", "autumn"), ("instagram", "instagram", "social", "bio"),
    ("", "newsletter", "email", "weekly"), ("dashboard", "", "", ""),
]


def play(person):
    """All days of one device."""
    rng = person.rng
    logged_in = seen = False
    for day in person.active_days():
        person.session(day)
        if day == person.first_day or rng.random() < 0.3:
            open_link(person, logged_in, seen)
            seen = seen or rng.random() < 0.6
        if not logged_in and rng.random() < 0.4:
            person.wait(30, 300)
            send(person, "user.authenticated", {"user": person.subject_name})
            logged_in = True


def open_link(person, logged_in, seen):
    """A link that is tapped, some of them for a target in the app."""
    rng = person.rng
    path, source, medium, campaign = rng.choice(CAMPAIGNS)
    query = [("utm_source", source), ("utm_medium", medium), ("utm_campaign", campaign)]
    if not path and rng.random() < 0.5:
        query.insert(0, ("dl_target", rng.choice(["dashboard", "paywall", "no-such-screen"])))
    text = "&".join(f"{name}={value}" for name, value in query if value)
    send(person, "link.opened", {
        "url": f"https://app.respirelyf.com/{path}" + (f"?{text}" if text else ""), "logged_in": logged_in,
        "onboarding_seen": seen,
    })


def send(person, type, data):
    """An event of the device's."""
    person.wait(1, 10)
    person.send(type, data, f"device:{person.subject_name}", "respire-lyf/ios")
