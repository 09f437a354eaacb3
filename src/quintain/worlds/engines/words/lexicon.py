"""A small list of common English words, written by hand for these worlds, and how their letters look."""

from __future__ import annotations

import functools

from quintain.worlds.art import tiles
from quintain.worlds.scene import Box, Disc, Run

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_THREE = """
ace act add age aid aim air ale ant ape arc ark arm art ash ask bad bag ban bar bat bay bed bee beg bet bid big bin bit bow box boy bud
bug bun bus but buy cab can cap car cat cod cog cop cot cow cub cup cut dad dam day den dew did dig dim dip dog dot dry due dug ear eat
egg elf elm end era eye fad fan far fat fed fee fig fin fir fit fix fly fog fox fun fur gap gas gem get gig gum gun gut guy hat hay hen
hid him hip hit hop hot hug hut ice ill ink inn ivy jam jar jaw jet job jog joy jug key kid kin kit lab lad lap law lay led leg let lid
lie lip lit log lot low mad man map mat may men met mix mob mop mud mug nap net new nod nun nut oak oar oat odd oil old one ore our out
owl own pad pan paw pay pea peg pen pet pie pig pin pit pop pot pub pun put rag ram ran rap rat raw ray red rib rid rig rim rip rob rod
rot row rub rug rum run sad sat saw say sea set sew shy sip sir sit six ski sky sly son sow soy spa spy sum sun tab tag tan tap tar tea
ten tie tin tip toe ton top toy try tub tug two van vat vet vow wag war wax way web wed wet wig win wit yes zip zoo
"""
_FOUR = """
able acid aged also area army atom aunt back bake bald ball band bank bare bark barn base bath bead beak beam bean bear beat been beer
bell belt bend best bike bill bind bird bite blow blue boat body boil bold bolt bond bone book boot bore born both bowl brag bull bump
burn bush cage cake calf call calm camp cane cape card care carp cart case cash cast cave cell chat chin chip city clap clay club coal
coat code coin cold colt come cook cool cope copy cord core cork corn cost cove crab crew crop crow cube cure dame damp dare dark dart
dash data date dawn deal dear deck deed deep deer dent desk dial dice diet dine dirt dish dive dock dome done door dose dove down drag
draw drop drum duck dull dune dusk dust each earn ease east easy edge face fact fade fail fair fall fame farm fast fate fear feed feel
fern file fill film find fine fire firm fish fist five flag flat flea flip flow foal fold folk food foot fore fork form fort foul four
free frog fuel full gain game gate gave gaze gear gift girl give glad glow glue goal goat gold golf good gown grab gray grid grin grip
grow gulf hail hair half hall halt hand hang hard hare harm harp hate have hawk haze head heal heap hear heat heel help herb herd here
hero hide high hike hill hint hire hive hold hole home hood hook hope horn hose host hour huge hunt hurt idea inch iron item jail jazz
join joke jump june just keen keep kick kind king kite knee knit knot lace lack lady lake lamb lame lamp land lane last late lawn lead
leaf leak lean leap left lend lens less lift like lime line link lion list live load loaf loan lock loft lone long look loop lord lore
lose loss lost loud love luck lung made mail main make male mall malt mane many mare mark mask mast mate maze meal mean meat meet melt
mend menu mile milk mill mind mine mint mist mode mole mood moon more moss most moth move much mule must nail name navy near neat neck
nest news next nice nine node none noon norm nose note noun oath obey once open oven over pace pack page paid pain pair pale palm park
part pass past path pave peak pear peel pile pill pine pink pint pipe plan play plot plum poem poet pole poll pond pony pool poor pope
pork port pose post pour pray prey pull pump pure push race rack raft rage raid rail rain rake ramp rank rare rate read real rear reed
reef rent rest rice rich ride ring rise risk road roam roar robe rock role roll roof room root rope rose rude ruin rule rush rust safe
sage sail salt same sand save seal seat seed seek self sell send ship shoe shop shore show side sign silk sing sink site size skin slam
sled slip slow snow soap sock soft soil sold sole some song soon sore sort soul soup sour spin spot star stay stem step stir stop such
suit sure swim tail take tale talk tall tame tank tape task team tear tell tent term test text then thin tide tile till time tiny tire
toad told toll tone took tool torn tour town trap tray tree trim trip true tube tune turn twin type vast veil vein verb vest vine vote
wade wage wait wake walk wall wand want ward warm warn wash wave weak wear weed week well went west wide wife wild will wind wine wing
wire wise wish wolf wood wool word wore work worm worn wrap yard yarn year yell zero zone
"""
_FIVE = """
about above actor adult after again agent agree alarm album alert alive allow alone angel anger angle ankle apple apron arena argue
arrow aside award badge baker basic beach beard beast begin being below bench berry birth black blade blame blank blast blaze blend
blind block blood bloom board boast bonus boost booth brain brake brand brave bread break brick bride brief bring broad brook broom
brown brush build bunch cabin cable camel candy cargo carry catch cause chain chair chalk charm chart chase cheap check cheek cheer
chess chest chief child chili chill choir civil claim clash class clean clear clerk click cliff climb clock close cloth cloud clown
coach coast cocoa color coral couch count court cover crack craft crane crash cream creek crest crisp cross crowd crown crumb crust
curve cycle daily dairy daisy dance delay depth diary digit diner ditch donor doubt dough dozen draft drain drama dream dress drift
drill drink drive eager eagle early earth elbow elder empty enemy enjoy enter equal error event every exact extra fable faint faith
fancy feast fence ferry fever fiber field fifty final flame flash fleet float flock flood floor flour fluid flute focus force forest
forge forty forum found frame fresh front frost fruit funny ghost giant glass globe glory glove grace grade grain grand grape graph
grass great green greet grief grill group grove guard guess guest guide habit happy harsh heart heavy hedge hello honey honor horse
hotel house human humor hurry image index inner input issue ivory jelly jewel joint judge juice knife knock label labor large laser
later laugh layer learn lemon level lever light limit linen liver local logic loose lower loyal lucky lunch magic major maple march
marsh match maybe mayor medal melon mercy merge merit merry metal meter might minor mixed model moist money month moral motor mount
mouse mouth movie music nerve never night noble noise north novel nurse ocean offer olive onion opera orbit order other otter outer
owner paint panel panic paper party pasta patch pause peace peach pearl pedal penny phone photo piano piece pilot pitch pizza place
plain plane plant plate plaza point polar pound power press price pride prime print prize proof proud pulse pupil puppy purse quack
quart queen quest quick quiet quilt quota quote radio raise ranch range rapid ratio reach ready relax reply rider ridge right river
roast robin robot rocky rough round route royal ruler rural salad sauce scale scare scarf scene scent scope score scout seven shade
shake shape share shark sharp sheep sheet shelf shell shift shine shirt shock shoot short shout sight silly since skate skill skirt
skull sleep slice slide slope small smart smell smile smoke snack snail snake solar solid solve sound south space spark speak spear
speed spell spend spice spike spine spoon sport spray squad staff stage stair stamp stand stare start state steam steel steep stern
stick still sting stock stone stool store storm story stove straw strip study style sugar sunny super sweet swift swing sword table
tango taste teach thank theme thick thing think thorn three throw thumb tiger tight title toast today token tooth topic torch total
touch tough towel tower toxic trace track trade trail train treat trend trial tribe trick truck trunk trust truth twice uncle under
union unite upper upset urban usual valid value vapor video virus visit vital vocal voice wagon waste watch water weary weave wheat
wheel where while white whole width woman world worry worth wound wrist write wrong yacht young youth zebra
"""
_SIX = """
anchor animal answer autumn basket beauty beetle bottle branch breeze bridge bright bronze bucket butter button camera candle carpet
castle cattle cellar cement center cheese cherry church circle closet coffee copper corner cotton cousin custom danger decade desert
dinner doctor dollar donkey dragon drawer driver eleven engine escape family farmer father feather figure finger flight flower forest
friend frozen future galaxy garage garden garlic gentle ginger global golden guitar hammer handle harbor helmet honest hunter island
jacket jungle kettle ladder lesson letter lumber magnet market master meadow memory middle mirror modern monkey mother museum narrow
nature needle number object office orange oyster palace parent pepper pencil people pillow planet player pocket poetry police potato
powder prince public puzzle rabbit record region ribbon rocket saddle salmon school screen season second secret shadow silver simple
singer sister sketch smooth soccer spider spirit spring square stable statue stream street string strong summer sunset supper switch
symbol system tablet temple ticket timber tomato travel tunnel turtle valley velvet violin volume walnut weapon weight window winter
wisdom wonder yellow
"""


_IDLE = (  # what is said for other reasons
    "back done end guess help hint lose maybe move next none okay pass play ready skip sorry start stop think try turn wait yes"
)


@functools.cache
def words_of(length: int) -> tuple[str, ...]:
    """The words of a length from 3 to 6, in order.

    Example:
        >>> len(words_of(3)) > 250, words_of(4)[0]
        (True, 'able')
    """
    text = {3: _THREE, 4: _FOUR, 5: _FIVE, 6: _SIX}.get(length, "")
    return tuple(sorted({word for word in text.split() if len(word) == length}))


def alone(text: str) -> str:
    """A text that is one word of the list and is seldom said for another reason; else nothing.

    Example:
        >>> alone("crane"), alone("done"), alone("the crane")
        ('crane', '', '')
    """
    return text if len(text) < 7 and text in words_of(len(text)) and text not in _IDLE.split() else ""


def _cell(fill: str, line: str = "seam") -> Box:
    return Box(x=0.03, y=0.03, width=0.94, height=0.94, fill=fill, line=line, thick=0.04, radius=0.08)


def letter(sign: str, color: str = "ink") -> Run:
    """A letter in the middle of a cell."""
    return Run(text=sign.upper(), x=0.5, y=0.52, size=0.7, color=color)


for _sign in LETTERS:
    tiles(
        {
            f"letter-{_sign}": (_cell("white"), letter(_sign)),
            f"found-{_sign}": (_cell("gold", "amber"), letter(_sign)),
            f"plain-{_sign}": (letter(_sign),),
            f"done-{_sign}": (letter(_sign, "cloud"), Box(x=0, y=0.47, width=1, height=0.08, fill="cloud")),
            f"goal-{_sign}": (_cell("mint", "forest"), letter(_sign)),
            f"here-{_sign}": (_cell("gold", "amber"), letter(_sign)),
            f"hit-{_sign}": (_cell("forest", "forest"), letter(_sign, "white")),
            f"near-{_sign}": (_cell("white"), Disc(x=0.5, y=0.5, radius=0.43, fill="gold"), letter(_sign)),
            f"miss-{_sign}": (_cell("seam"), letter(_sign, "stone")),
        }
    )
tiles({"letter-slot": (_cell("floor"),), "letter-open": (_cell("white", "stone"),)})
