"""An equilibrium of the six-card game, found by `leduc_solve`: information set -> chances of fold (if facing a bet), pass, raise.

An information set is the own rank (0 jack, 1 queen, 2 king), the open rank or `-`, and the actions: k for a pass, r for a raise.
"""

from __future__ import annotations

_ROWS = """
0-=928,72 1-=258,742 2-=248,752 0-k=701,299 1-k=150,850 2-k=0,1000
0-kr=946,36,18 1-kr=0,845,155 2-kr=0,319,681 0-krr=0,1000 1-krr=0,1000 2-krr=0,1000
0-r=819,126,55 1-r=0,629,371 2-r=0,417,583 0-rr=0,1000 1-rr=0,1000 2-rr=0,1000
00kk=908,92 10kk=1000,0 20kk=1000,0 00kkk=0,1000 10kkk=1000,0 20kkk=989,11
00kkkr=0,205,795 10kkkr=1000,0,0 20kkkr=1000,0,0 00kkkrr=0,1000 10kkkrr=967,33 20kkkrr=177,823
00kkr=0,348,652 10kkr=1000,0,0 20kkr=938,57,5 00kkrr=0,1000 10kkrr=988,12 20kkrr=537,463
00krk=7,993 10krk=970,30 20krk=1000,0 00krkk=0,1000 10krkk=459,541 20krkk=862,138
00krkkr=0,0,1000 10krkkr=999,0,1 20krkkr=0,1000,0 00krkkrr=0,1000 10krkkrr=999,1 20krkkrr=0,1000
00krkr=0,0,1000 10krkr=1000,0,0 20krkr=263,737,0 00krkrr=0,1000 10krkrr=1000,0 20krkrr=230,770
00krrk=0,1000 10krrk=995,5 20krrk=926,74 00krrkk=0,1000 10krrkk=1000,0 20krrkk=500,500
00krrkkr=1,1,998 10krrkkr=1000,0,0 20krrkkr=0,1000,0 00krrkkrr=0,1000 10krrkkrr=486,514 20krrkkrr=247,753
00krrkr=0,1,999 10krrkr=980,0,20 20krrkr=185,765,50 00krrkrr=0,1000 10krrkrr=1000,0 20krrkrr=606,394
00rk=0,1000 10rk=993,7 20rk=920,80 00rkk=0,1000 10rkk=1000,0 20rkk=562,438
00rkkr=1,1,998 10rkkr=1000,0,0 20rkkr=0,1000,0 00rkkrr=0,1000 10rkkrr=983,17 20rkkrr=287,713
00rkr=0,0,1000 10rkr=981,0,19 20rkr=248,728,24 00rkrr=0,1000 10rkrr=1000,0 20rkrr=686,314
00rrk=0,1000 10rrk=1000,0 20rrk=923,77 00rrkk=0,1000 10rrkk=1000,0 20rrkk=581,419
00rrkkr=1,1,998 10rrkkr=1000,0,0 20rrkkr=0,1000,0 00rrkkrr=0,1000 10rrkkrr=500,500 20rrkkrr=68,932
00rrkr=0,0,1000 10rrkr=1000,0,0 20rrkr=76,883,42 00rrkrr=0,1000 10rrkrr=983,17 20rrkrr=555,445
01kk=806,194 11kk=477,523 21kk=1000,0 01kkk=929,71 11kkk=0,1000 21kkk=989,11
01kkkr=1000,0,0 11kkkr=0,200,800 21kkkr=581,419,0 01kkkrr=1000,0 11kkkrr=0,1000 21kkkrr=170,830
01kkr=964,0,36 11kkr=0,84,916 21kkr=167,792,41 01kkrr=1000,0 11kkrr=0,1000 21kkrr=596,404
01krk=7,993 11krk=9,991 21krk=113,887 01krkk=616,384 11krkk=0,1000 21krkk=632,368
01krkkr=11,0,989 11krkkr=0,0,1000 21krkkr=452,548,0 01krkkrr=1000,0 11krkkrr=0,1000 21krkkrr=946,54
01krkr=863,0,137 11krkr=0,0,1000 21krkr=578,422,0 01krkrr=1000,0 11krkrr=0,1000 21krkrr=1000,0
01krrk=1000,0 11krrk=1000,0 21krrk=1000,0 01krrkk=964,36 11krrkk=0,1000 21krrkk=380,620
01krrkkr=794,0,206 11krrkkr=0,0,1000 21krrkkr=312,684,4 01krrkkrr=1000,0 11krrkkrr=0,1000 21krrkkrr=607,393
01krrkr=887,0,113 11krrkr=0,381,619 21krrkr=327,605,68 01krrkrr=981,19 11krrkrr=1,999 21krrkrr=489,511
01rk=0,1000 11rk=512,488 21rk=1000,0 01rkk=0,1000 11rkk=0,1000 21rkk=1000,0
01rkkr=907,2,91 11rkkr=0,0,1000 21rkkr=512,488,0 01rkkrr=1000,0 11rkkrr=0,1000 21rkkrr=655,345
01rkr=1000,0,0 11rkr=0,222,778 21rkr=698,302,0 01rkrr=1000,0 11rkrr=0,1000 21rkrr=495,505
01rrk=877,123 11rrk=0,1000 21rrk=277,723 01rrkk=1000,0 11rrkk=0,1000 21rrkk=481,519
01rrkkr=1000,0,0 11rrkkr=0,0,1000 21rrkkr=0,1000,0 01rrkkrr=995,5 11rrkkrr=0,1000 21rrkkrr=524,476
01rrkr=573,0,427 11rrkr=0,0,1000 21rrkr=380,535,85 01rrkrr=1000,0 11rrkrr=0,1000 21rrkrr=607,393
02kk=924,76 12kk=415,585 22kk=0,1000 02kkk=993,7 12kkk=684,316 22kkk=4,996
02kkkr=1000,0,0 12kkkr=0,651,349 22kkkr=4,4,992 02kkkrr=1000,0 12kkkrr=0,1000 22kkkrr=2,998
02kkr=1000,0,0 12kkr=275,725,0 22kkr=13,41,946 02kkrr=1000,0 12kkrr=93,907 22kkrr=0,1000
02krk=967,33 12krk=989,11 22krk=910,90 02krkk=441,559 12krkk=743,257 22krkk=0,1000
02krkkr=1000,0,0 12krkkr=445,555,0 22krkkr=0,0,1000 02krkkrr=1000,0 12krkkrr=1000,0 22krkkrr=0,1000
02krkr=987,0,13 12krkr=555,445,0 22krkr=0,0,1000 02krkrr=1000,0 12krkrr=1000,0 22krkrr=0,1000
02krrk=0,1000 12krrk=0,1000 22krrk=0,1000 02krrkk=478,522 12krrkk=868,132 22krrkk=0,1000
02krrkkr=8,8,984 12krrkkr=244,698,58 22krrkkr=1,1,998 02krrkkrr=1000,0 12krrkkrr=454,546 22krrkkrr=0,1000
02krrkr=787,0,213 12krrkr=721,279,0 22krrkr=0,295,705 02krrkrr=1000,0 12krrkrr=998,2 22krrkrr=0,1000
02rk=0,1000 12rk=562,438 22rk=195,805 02rkk=620,380 12rkk=622,378 22rkk=0,1000
02rkkr=180,5,815 12rkkr=470,529,1 22rkkr=0,0,1000 02rkkrr=1000,0 12rkkrr=1000,0 22rkkrr=0,1000
02rkr=632,0,368 12rkr=694,306,0 22rkr=0,0,1000 02rkrr=1000,0 12rkrr=797,203 22rkrr=0,1000
02rrk=439,561 12rrk=872,128 22rrk=465,535 02rrkk=0,1000 12rrkk=575,425 22rrkk=0,1000
02rrkkr=1,0,999 12rrkkr=707,293,0 22rrkkr=0,0,1000 02rrkkrr=1000,0 12rrkkrr=948,52 22rrkkrr=0,1000
02rrkr=689,0,311 12rrkr=496,504,0 22rrkr=0,301,699 02rrkrr=1000,0 12rrkrr=1000,0 22rrkrr=0,1000
"""


def _read(rows: str) -> dict[str, tuple[float, ...]]:
    out = {}
    for cell in rows.split():
        key, _, numbers = cell.partition("=")
        thousandths = [int(n) for n in numbers.split(",")]
        out[key] = tuple([n / sum(thousandths) for n in thousandths])
    return out


TABLE = _read(_ROWS)
