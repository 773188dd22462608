"""A labelled set for licences: texts written by hand for this set, each with the licences that it states for itself.

Names of licences and usual sentences of footers are facts of the web; the texts around them are made up. Half of the
texts discuss licences, deny them, or state them for a picture or for another work. Every second pair of
texts was used for tuning, the other pairs are held out. It is no sample of the web.
"""

SET: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("This work is licensed under a Creative Commons Attribution 4.0 International License.", ("CC-BY-4.0",)),
    ("The MIT License and the GPL differ in what they ask of those who distribute changed versions.", ()),
    (
        "Text is available under the Creative Commons Attribution-ShareAlike License 4.0; additional terms may apply.",
        ("CC-BY-SA-4.0",),
    ),
    ("Photo by Jane Doe, licensed under CC BY 2.0. The council met on Tuesday to discuss the budget.", ()),
    (
        "Except where otherwise noted, content on this site is licensed under CC BY-NC-SA 3.0.",
        ("CC-BY-NC-SA-3.0",),
    ),
    ("He argued that the Apache License 2.0 protects contributors better than MIT-style terms.", ()),
    (
        'Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance.',
        ("Apache-2.0",),
    ),
    ("We use an icon set whose icons are released under the MIT license.", ()),
    ("// SPDX-License-Identifier: BSD-3-Clause\nint main(void) { return 0; }", ("BSD-3-Clause",)),
    ("Creative Commons was founded in 2001 and published its first licences in 2002.", ()),
    ("License: MIT\n\nInstallation: run the command below.", ("MIT",)),
    ("Should you release your thesis under CC BY or keep all rights? It depends on your publisher.", ()),
    (
        "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
        ("MIT",),
    ),
    ("The court found that the GPL is enforceable, and ordered the vendor to publish the source.", ()),
    (
        "Dieses Werk ist lizenziert unter einer Creative Commons Namensnennung - Weitergabe unter gleichen Bedingungen 4.0 International Lizenz.",
        ("CC-BY-SA-4.0",),
    ),
    ("This software is not licensed under the GPL. Contact sales for terms.", ()),
    (
        "Ce contenu est mis à disposition sous licence Creative Commons Attribution - Pas d'Utilisation Commerciale 4.0.",
        ("CC-BY-NC-4.0",),
    ),
    ("© 2019 The Society. All rights reserved. No part may be reproduced.", ()),
    (
        "Esta obra está bajo una licencia Creative Commons Reconocimiento-NoComercial-CompartirIgual 4.0 Internacional.",
        ("CC-BY-NC-SA-4.0",),
    ),
    ("Image: Wikimedia Commons, CC BY-SA 3.0", ()),
    (
        "To the extent possible under law, the author has dedicated this work to the public domain under CC0 1.0.",
        ("CC0-1.0",),
    ),
    ("In Europe, works enter the public domain 70 years after the death of the author.", ()),
    (
        "This is an open access article distributed under the terms of the Creative Commons Attribution License (CC BY 4.0), which permits use.",
        ("CC-BY-4.0",),
    ),
    ("Unlike Wikipedia, which is licensed under CC BY-SA, our encyclopedia keeps its copyright.", ()),
    (
        "This program is free software: you can redistribute it under the terms of the GNU General Public License version 3.",
        ("GPL-3.0",),
    ),
    ("Linux was relicensed under the GPL in 1992, which Torvalds called his best decision.", ()),
    (
        "Permission is granted to copy this document under the terms of the GNU Free Documentation License, Version 1.3.",
        ("GFDL-1.3",),
    ),
    ("The song samples a track that is available under CC BY-NC 3.0 at a music archive.", ()),
    (
        "All content is available under the Open Government Licence v3.0, except where otherwise stated.",
        ("OGL-UK-3.0",),
    ),
    ("Students compare the BSD license, the MIT license and the Mozilla Public License in week four.", ()),
    ("Content licensed under https://creativecommons.org/licenses/by-sa/4.0/", ("CC-BY-SA-4.0",)),
    ("See creativecommons.org/licenses/by/4.0 for what the shortest of the six licences says.", ()),
    ("Documentation is released under the MIT License. Copyright 2020 the contributors.", ("MIT",)),
    ("If you choose the AGPL, users of a network service get the source too.", ()),
    ("This book is released under a CC BY-NC-ND 4.0 license.", ("CC-BY-NC-ND-4.0",)),
    ("The shutter speed was 1/200; flickr photo shared by bob under a Creative Commons (BY) license", ()),
    (
        "The source code of this project is available under the GNU Affero General Public License v3.0.",
        ("AGPL-3.0",),
    ),
    (
        "The company moved its database from the Apache License 2.0 to a business source license, which users disliked.",
        (),
    ),
    (
        "Redistribution and use in source and binary forms, with or without modification, are permitted",
        ("BSD",),
    ),
    (
        "The font is licensed under the SIL Open Font License, the library under LGPL 2.1, as the package says.",
        (),
    ),
    ("© 2021 Jane Doe. Licensed under CC BY 4.0.", ("CC-BY-4.0",)),
    ("A licence to fish costs ten euros a year and is available at the town hall.", ()),
    ("These slides are shared under CC-BY 3.0.", ("CC-BY-3.0",)),
    (
        "The driver's license, the marriage license and the liquor license are issued by different offices.",
        (),
    ),
    (
        "This dataset is made available under the Open Database License: any rights are licensed under ODbL 1.0.",
        ("ODbL-1.0",),
    ),
    ("His films are in the public domain in the United States, since nobody renewed the registration.", ()),
    (
        "Quest'opera è distribuita con Licenza Creative Commons Attribuzione - Non commerciale 4.0 Internazionale.",
        ("CC-BY-NC-4.0",),
    ),
    ("Maybe we would publish under CC0, maybe not; the board decides in May.", ()),
    (
        "The lessons on this site are published under a Creative Commons Attribution-NonCommercial license.",
        ("CC-BY-NC",),
    ),
    ("BY-SA, BY-NC and BY-ND are the elements; CC BY is the most liberal of the licences after CC0.", ()),
    ("This work is in the public domain.", ("PD",)),
    ("The domain public.example.org was registered in 1999.", ()),
    (
        "This module is distributed under the same terms as Perl itself; see also the ISC license of its parser.",
        (),
    ),
    (
        "Este texto está disponible bajo la licencia Creative Commons Atribución Compartir Igual 4.0.",
        ("CC-BY-SA-4.0",),
    ),
    ("All wiki pages are covered by CC BY-SA 2.5 unless marked otherwise.", ("CC-BY-SA-2.5",)),
    (
        "Which license should I choose? The options: MIT License, Apache License 2.0, GNU GPLv3, Mozilla Public License 2.0.",
        (),
    ),
    (
        "This file is part of Foo. Foo is free software; you can redistribute it under the GNU Lesser General Public License version 2.1.",
        ("LGPL-2.1",),
    ),
    ("Commons is a word with a history: land that all may use.", ()),
    ("Die Inhalte dieser Seite stehen unter der Lizenz CC BY 3.0 DE.", ("CC-BY-3.0",)),
    ("The gallery says: images available under CC BY-NC 4.0; texts are ours.", ()),
)
