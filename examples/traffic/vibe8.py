"""Vibe8, the app of the plugins gamification and analytics: streaks, points that are spent, and consent."""

TONES = ["playful", "sincere", "witty", "bold", "casual"]
# What people spend at once on the tier that they save for.
SPENDS = {"silver": [50, 100, 100], "gold": [100, 200, 200], "platinum": [250, 500, 500]}
QUALITIES = ["bronze", "bronze", "bronze", "silver", "gold"]


def play(person):
    """All days of one user."""
    rng = person.rng
    consents = rng.random() < 0.7
    saves_for = rng.choice(["silver", "gold", "platinum", "platinum", None])
    for day in person.active_days():
        person.session(day)
        if day == person.first_day:
            begin(person, consents)
        elif person.travels(day):
            send(person, "profile.updated", {"time_zone": person.zone})
        for _ in range(rng.choice([1, 1, 1, 2])):
            visit(person, saves_for)
            person.wait(600, 7200)
    if rng.random() < 0.02:
        send(person, "data.deleted", {})


def begin(person, consents):
    """The first minutes: time zone, tutorial, consent."""
    send(person, "profile.updated", {"time_zone": person.zone})
    if consents:
        send(person, "settings.analytics_toggled", {"enabled": True})
    for step in range(1, 4):
        person.wait(3, 15)
        if person.rng.random() < 0.1:
            return send(person, "tutorial.skipped", {"step_skipped_on": step})
        send(person, "tutorial.step_viewed", {"step_number": step})
    send(person, "tutorial.completed", {"completion_time_seconds": person.rng.randrange(20, 90), "skipped": False})


def visit(person, saves_for):
    """One visit of the app: generate flirts, reveal, copy and rate some."""
    rng = person.rng
    send(person, "session.started", {})
    send(person, "app.opened", {"launch_type": rng.choice(["cold_start", "background_resume"])})
    person.wait(5, 60)
    for _ in range(rng.choice([0, 1, 1, 2])):
        tone = rng.choice(TONES)
        send(person, "screen.viewed", {"screen": "analyze"})
        send(person, "flirts.generated", {"flirt_count": 3})
        for index in range(rng.randrange(1, 4)):
            person.wait(4, 40)
            send(person, "flirt.revealed", {
                "flirt_index": index, "scroll_duration_ms": rng.randrange(300, 4000), "reveal_method": "scroll",
            })
            quality = rng.choice(QUALITIES)
            if rng.random() < 0.5:
                send(person, "flirt.copied", {"flirt_index": index, "tone_used": tone, "quality_tier": quality})
            if rng.random() < 0.2:
                rating = rng.choice([1, 2, 3, 4, 4, 5, 5])
                send(person, "flirt.rated", {
                    "rating": rating, "flirt_index": index, "tone_used": tone, "quality_tier": quality,
                })
    if saves_for and rng.random() < 0.35:
        send(person, "points.spent", {"amount": rng.choice(SPENDS[saves_for]), "tier": saves_for})
    person.wait(10, 90)
    if rng.random() < 0.01:
        send(person, "settings.gamification_toggled", {"enabled": rng.random() < 0.5})
    send(person, "session.ended", {})


def send(person, type, data):
    """An event of the user's; their devices share it."""
    person.wait(0.2, 3)
    person.send(type, data, f"user:{person.subject_name}", "vibe8/ios")
