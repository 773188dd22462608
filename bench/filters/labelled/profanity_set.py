"""A labelled set for word lists: English sentences written by hand, each with whether it has a profane word in a
profane sense. Half of the clean ones hold words that contain or resemble profane ones. It was written before it was
first measured, and nothing was tuned on it. It is no sample of the web.
"""

SET: tuple[tuple[str, bool], ...] = (
    ("What the fuck is wrong with this printer?", True),
    ("He called the referee an asshole and was sent off.", True),
    ("This is complete bullshit, and you know it.", True),
    ("Shit happens, as my grandfather used to say.", True),
    ("Stop being such a dick about it.", True),
    ("She told the bastard to leave.", True),
    ("FUCK this, I am going home.", True),
    ("The motherfucker took my bike!", True),
    ("Damn, that bitch stole my seat.", True),
    ("They were fucking around all day.", True),
    ("What a sh1tty day.", True),
    ("F*ck off, all of you.", True),
    ("You are a piece of crap.", True),
    ("Watch hot nude milf videos for free.", True),
    ("The town of Scunthorpe lies in Lincolnshire.", False),
    ("The class assessed the assassin's passage.", False),
    ("Dick Cheney and Dick Van Dyke share a first name.", False),
    ("A cock crowed before the hens woke up.", False),
    ("The analyst in Essex analysed the data of Sussex.", False),
    ("Breast cancer screening begins at fifty.", False),
    ("Penistone and Clitheroe are towns in the north of England.", False),
    ("The mass of the ass that carried the grass was small.", False),
    ("Sexual reproduction in plants needs pollen.", False),
    ("The great tit and the blue tit are common birds.", False),
    ("Moby Dick was published in 1851.", False),
    ("The titular character sits on the cockpit's edge.", False),
    ("He shot the arrow and hit the mark.", False),
    ("The document was classified and passed on.", False),
    ("The children sang in the choir on Sunday.", False),
    ("Bread is baked from flour, water, salt and yeast.", False),
)
