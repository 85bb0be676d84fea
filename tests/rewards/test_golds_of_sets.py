"""Gold answers of public evaluation sets as they are written there, with what meets them and what does not."""

import pytest

from pacs.rewards.math import grade

from .met_by import assert_met_by

#: HMMT of February 2025, BRUMO 2025.
MATHARENA: dict[str, tuple[list[str], list[str]]] = {
    r"\frac{-1+\sqrt{17}}{2}, \frac{-1-\sqrt{17}}{2}": (
        [
            r"\frac{-1 \pm \sqrt{17}}{2}",
            r"\frac{-1-\sqrt{17}}{2}, \frac{-1+\sqrt{17}}{2}",
            r"\dfrac{\sqrt{17}-1}{2},\ -\dfrac{1+\sqrt{17}}{2}",
            r"\frac{-1+\sqrt{17}}{2} \text{ and } \frac{-1-\sqrt{17}}{2}",
            r"\left\{\frac{-1+\sqrt{17}}{2}, \frac{-1-\sqrt{17}}{2}\right\}",
        ],
        [r"\frac{-1+\sqrt{17}}{2}", r"\frac{1\pm\sqrt{17}}{2}", r"\frac{-1+\sqrt{17}}{2}, \frac{1-\sqrt{17}}{2}"],
    ),
    r"2^{25} \cdot 26!": (
        [r"26! \cdot 2^{25}", r"26!\times 2^{25}", r"2^{25}\times 26!", "2^{25}26!", "2^{25}(26!)"],
        [r"2^{26}\cdot 26!", r"2^{25}\cdot 25!", "26!"],
    ),
    r"\frac{9 \sqrt{23}}{23}": (
        [r"\frac{9}{\sqrt{23}}", r"\dfrac{9\sqrt{23}}{23}", r"9\sqrt{23}/23"],
        [r"\frac{9\sqrt{23}}{25}"],
    ),
    r"\sqrt{\frac{95}{24}}": (
        [r"\frac{\sqrt{570}}{12}", r"\frac{\sqrt{95}}{2\sqrt{6}}", r"\sqrt{95/24}"],
        [r"\frac{95}{24}"],
    ),
    r"20\pi": ([r"20 \pi", "20π"], ["20", "62.8"]),
}
#: Numbers as Python writes them, formulas of physics, differential equations.
MINERVA: dict[str, tuple[list[str], list[str]]] = {
    "4.5e33": (
        [
            r"4.5 \times 10^{33}",
            r"4.5\times10^{33}\,\text{erg/s}",
            r"4.5 \times 10^{33} \text{ ergs per second}",
            r"4.5 \cdot 10^{33}",
            "4.5E33",
            "4.5e+33",
        ],
        [r"4.5\times 10^{32}", "4.5", r"4.6 \times 10^{33}"],
    ),
    "np.arcsin(10/13)": (
        [r"\arcsin(10/13)", r"\arcsin\left(\frac{10}{13}\right)", r"\sin^{-1}\left(\frac{10}{13}\right)"],
        [r"\arccos(10/13)", r"\arcsin(13/10)", r"\arcsin(10/11)"],
    ),
    "-1./3": ([r"-\frac{1}{3}", "-1/3", r"-\frac13"], [r"\frac{1}{3}", "-0.3"]),
    "1e-5": (
        [
            "10^{-5}",
            r"1 \times 10^{-5}",
            r"1.0 \times 10^{-5}",
            "0.00001",
            r"10^{-5} \text{ radians}",
            r"1\times10^{-5}\,\text{rad}",
        ],
        ["10^{5}", "10^{-4}"],
    ),
    "1.70e4": (
        [r"1.70 \times 10^4", "17000", r"1.7 \times 10^{4} \text{ cm}^{-1}", r"1.70 \times 10^4 \, \text{cm}^{-1}"],
        ["1700"],
    ),
    "I(0)": ([], ["0", "I", "I(1)"]),
    r"I(0) e^{-\frac{t}{R C}}": (
        ["I(0)e^{-t/(RC)}", r"I(t) = I(0) e^{-\frac{t}{RC}}", r"I(0)\exp\left(-\frac{t}{RC}\right)"],
        ["0", r"I(0) e^{\frac{t}{RC}}"],
    ),
    r"\frac{d x}{d t}=k x-a": (
        [
            r"\frac{dx}{dt} = kx - a",
            r"\dot{x} = kx - a",
            "x' = kx - a",
            "dx/dt = kx - a",
            r"\frac{dx(t)}{dt} = k x(t) - a",
        ],
        [r"\frac{dx}{dt} = kx + a", "x = kx - a", r"\frac{dx}{dt} = kx"],
    ),
    r"y^{\prime}+r y-r x(t)=0": (
        [r"\frac{dy}{dt} + ry - r x(t) = 0", "y' = r(x-y)", "y'(t) = r x(t) - r y(t)", r"\frac{dy}{dt} = r x - r y"],
        ["y' = r x + r y"],
    ),
    r"m \frac{d v}{d t}+b v=f": (
        [
            r"m\dot{v} + bv = f",
            r"m \frac{dv}{dt} = f - bv",
            r"\frac{dv}{dt} = \frac{f - bv}{m}",
            r"\frac{dv}{dt} + \frac{b}{m} v = \frac{f}{m}",
            r"\frac{dv}{dt} = \frac{1}{m}(f - b v)",
            r"\dot{v} = -\frac{b}{m} v + \frac{1}{m} f",
        ],
        [r"m \frac{dv}{dt} - bv = f", r"m\ddot{v}+bv=f"],
    ),
    r"\frac{d^{2} v_{o}}{d t^{2}}+\frac{v_{o}}{L C}=\frac{v_{i}}{L C}": (
        [
            r"\ddot{v}_o + \frac{1}{LC} v_o = \frac{1}{LC} v_i",
            r"LC \frac{d^2 v_o}{dt^2} + v_o = v_i",
            r"\frac{d^2v_o(t)}{dt^2} + \frac{1}{LC} v_o(t) = \frac{1}{LC} v_i(t)",
        ],
        [r"LC\frac{dv_o}{dt} + v_o = v_i"],
    ),
    r"m l \ddot{\theta}(t)-m g \sin \theta(t)=f(t) \cos \theta(t)": (
        [
            r"ml\ddot{\theta} - mg\sin\theta = f\cos\theta",
            r"m l \ddot{\theta} = m g \sin\theta + f \cos\theta",
            r"ml\frac{d^2\theta}{dt^2} - mg\sin\theta = f(t)\cos\theta",
        ],
        [r"m l \ddot{\theta} + m g \sin\theta = f \cos\theta"],
    ),
    "(1 - 3e^{-2t} + 2e^{-5t}) u(t)": (
        [
            r"\left(1 - 3e^{-2t} + 2e^{-5t}\right)u(t)",
            "u(t)(1 + 2e^{-5t} - 3e^{-2t})",
            "f(t) = (1 - 3 e^{-2t} + 2 e^{-5t})u(t)",
            "u(t) - 3e^{-2t}u(t) + 2e^{-5t}u(t)",
        ],
        ["(1 - 3e^{-2t} - 2e^{-5t}) u(t)"],
    ),
    r"x_{0} \cos (\omega t)+$ $\dot{x}_{0} \sin (\omega t) / \omega": (
        [
            r"x_0\cos(\omega t) + \frac{\dot{x}_0}{\omega}\sin(\omega t)",
            r"x(t) = x_0 \cos(\omega t) + \frac{\dot{x}_0}{\omega} \sin(\omega t)",
        ],
        [
            r"x_0\cos(\omega t) - \frac{\dot{x}_0}{\omega}\sin(\omega t)",
            r"x_0\cos(\omega t) + \frac{x_0}{\omega}\sin(\omega t)",
        ],
    ),
    r"\frac{1}{2a}(\exp{a*t} - \exp{-a*t})": (
        [
            r"\frac{e^{at}-e^{-at}}{2a}",
            r"\frac{\sinh(at)}{a}",
            r"\frac{1}{a}\sinh(at)",
            r"x(t) = \frac{1}{2a}\left(e^{at} - e^{-at}\right)",
        ],
        [r"\frac{e^{at}+e^{-at}}{2a}"],
    ),
    r"\lambda_{\text {red}} / \sqrt{2}": (
        [
            r"\frac{\lambda_{\text{red}}}{\sqrt{2}}",
            r"\frac{\lambda_{red}}{\sqrt{2}}",
            r"\frac{\lambda_{\mathrm{red}}}{\sqrt{2}}",
        ],
        [r"\sqrt{2}\lambda_{\text{red}}"],
    ),
    "MR=SRMC": (
        ["MR = SRMC", r"\text{MR} = \text{SRMC}", "SRMC=MR", "SRMC = MR", r"\mathrm{MR}=\mathrm{SRMC}"],
        ["MR=MC", "MR", "SRMC=P"],
    ),
    "7.6 Z": (["7.6Z", r"7.6 Z \text{ eV}", r"7.6Z\,\text{eV}"], ["7.6", "7.7Z"]),
    r"-\tau \ln \Delta": (
        [r"\tau\ln(1/\Delta)", r"t_s = -\tau \ln(\Delta)", r"\tau \ln\left(\frac{1}{\Delta}\right)"],
        [r"\tau\ln\Delta"],
    ),
    "E_{1},E_{2}": (
        ["E_1, E_2", r"E_1 \text{ or } E_2", "E_2, E_1", r"E_1 \text{ and } E_2", r"\{E_1, E_2\}"],
        ["E_1"],
    ),
}
#: Several answers in dollars each; floors and factorials.
OLYMPIADBENCH: dict[str, tuple[list[str], list[str]]] = {
    "$69$,$84$": (
        [
            "69, 84",
            "84,69",
            r"69 \text{ and } 84",
            "n = 69, 84",
            r"\{69, 84\}",
            r"n=69 \text{ or } n=84",
            "$69$ or $84$",
            r"\$69, \$84",
        ],
        ["69", "69, 85", "(69,84,1)"],
    ),
    "$f(n)=n$, $g(n)=1$": (
        ["f(n)=n, g(n)=1", r"f(n) = n \text{ and } g(n) = 1", "(f(n), g(n)) = (n, 1)", "g(n)=1, f(n)=n"],
        ["f(n)=1, g(n)=n", "f(n)=n"],
    ),
    r"$\angle B E A_{1}=90$,$\angle A E B_{1}=90$": (
        [r"\angle BEA_1 = 90^\circ, \angle AEB_1 = 90^\circ", r"90^\circ, 90^\circ"],
        ["90, 45"],
    ),
    r"m_{\max }=n^{2}-n-1": (["n^2-n-1", r"m_{\max} = n^2 - n - 1", r"m_{\text{max}}=n^2-n-1"], ["n^2-n+1"]),
    "$f(x)=-1$,$f(x)=x+1$": (
        [
            "f(x) = -1, f(x) = x+1",
            r"f(x) = x+1 \text{ or } f(x) = -1",
            r"f(x) = -1 \text{ and } f(x) = x+1",
            "-1, x+1",
            r"f(x)=x+1 \text{ and } f(x)=-1 \text{ for all } x",
        ],
        ["f(x)=x+1", "f(x)=1, f(x)=x+1"],
    ),
    r"$90^{\circ}$,$60^{\circ}$": (
        [r"60^\circ, 90^\circ", r"60^\circ \text{ or } 90^\circ", "90, 60", r"60^{\circ} \text{ and } 90^{\circ}"],
        [r"90^\circ", "60, 120"],
    ),
    "$(-6,6)$, $(2,6)$": (
        ["(-6,6), (2,6)", r"(2,6) \text{ and } (-6,6)", r"\{(-6, 6), (2, 6)\}", "(x,y)=(-6,6),(2,6)"],
        ["(-6,6)", "(6,-6),(2,6)"],
    ),
    "$2^{-2 / 3}$, $8$": (
        [
            "8, 2^{-2/3}",
            r"\frac{1}{\sqrt[3]{4}}, 8",
            r"x = 8 \text{ or } x = \frac{1}{2^{2/3}}",
            r"\frac{\sqrt[3]{2}}{2}, 8",
        ],
        ["8"],
    ),
    r"$(22+8 \sqrt{6}, 22-8 \sqrt{6})$,$(22-8 \sqrt{6}, 22+8 \sqrt{6})$": (
        [r"(22 \pm 8\sqrt{6}, 22 \mp 8\sqrt{6})", r"(22-8\sqrt{6}, 22+8\sqrt{6}), (22+8\sqrt{6}, 22-8\sqrt{6})"],
        [r"(22+8\sqrt{6}, 22-8\sqrt{6})"],
    ),
    "62.5%": ([r"62.5\%", "62.5", r"62.5 \text{ percent}"], [r"0.625\%", "6.25"]),
    r"(-\infty, 0) \cup\{1\}": (
        [
            r"(-\infty,0)\cup\{1\}",
            r"P(0) < 0 \text{ or } P(0) = 1",
            r"P(0) \in (-\infty, 0) \cup \{1\}",
            r"\{1\} \cup (-\infty, 0)",
        ],
        [r"(-\infty,0)", r"(-\infty,0]\cup\{1\}"],
    ),
    r"18.8^{\circ}": (["18.8", r"18.8^\circ", r"18.8 \text{ degrees}"], ["18.9", "19"]),
    r"\left\lfloor\log _{2} n\right\rfloor+1": (
        [r"\lfloor \log_2 n \rfloor + 1", r"1+\lfloor\log_2(n)\rfloor", r"\lceil\log_2(n+1)\rceil"],
        [r"\lceil\log_2 n\rceil", r"\log_2 n+1"],
    ),
    r"\lceil n / 2\rceil+1": (
        [r"\left\lceil \frac{n}{2} \right\rceil + 1", r"1+\lceil \frac{n}{2}\rceil", r"\lfloor \frac{n+3}{2} \rfloor"],
        [r"\lfloor n/2\rfloor+1", r"\frac{n}{2}+1", r"\lceil \frac{n+1}{2} \rceil"],
    ),
    r"\binom{2n}{n}": (
        [
            r"\frac{(2n)!}{(n!)^2}",
            r"{2n \choose n}",
            r"\dbinom{2n}{n}",
            r"\frac{(2n)!}{n!n!}",
            r"\frac{(2n)!}{n! \cdot n!}",
        ],
        [r"\frac{(2n)!}{n!}", r"\binom{2n}{n+1}"],
    ),
    r"\frac{d !}{2 k(d-k) !}": (
        [
            r"\frac{d!}{2k(d-k)!}",
            r"\frac{d!}{2k \cdot (d-k)!}",
            r"\binom{d}{k}\frac{(k-1)!}{2}",
            r"\frac{1}{2k}\cdot\frac{d!}{(d-k)!}",
        ],
        [r"\frac{d!}{k(d-k)!}", r"\frac{d!}{2k(d+k)!}"],
    ),
    r"(4, \log _{10} 2)": (
        [r"(4, \log_{10} 2)", r"(4, \log 2)", r"\left(4,\log_{10}2\right)"],
        ["(4, 2)", r"(\log_{10}2, 4)"],
    ),
    r"2021 \cdot 505 \cdot 337": (["343943885", r"337 \cdot 505 \cdot 2021", r"2021\times505\times337"], ["343943884"]),
}


@pytest.mark.parametrize("gold", [*MATHARENA, *MINERVA, *OLYMPIADBENCH])
def test_what_meets_a_gold_answer(gold: str) -> None:
    assert_met_by(gold, *(MATHARENA | MINERVA | OLYMPIADBENCH)[gold])


#: Answers, golds and whether one meets the other: what the mended readings must not take along.
NEAR = [
    (r"300\,\mathrm{km\,s^{-1}}", "300", True),
    (r"1.70\times10^4\ \mathrm{kcal\,m^{-2}\,yr^{-1}}", "1.70e4", True),
    (r"9.6\,\text{\AA}", "9.6", True),
    ("9.6 Å", "9.6", True),
    (r"5\text{ don't}", "5", False),
    (r"\mathrm{d}x/\mathrm{d}t=kx-a", r"\frac{d x}{d t}=k x-a", True),
    (r"5\$, 6\$", "5, 6", True),
    ("$5, $6", "5, 6", True),
    (r"\frac{dy}{dx}=2x", "2x", True),
    (r"\frac{dy}{dx}=2x", "2y", False),
    ("2y'=4x", "y'=2x", False),  # not solved
    (r"\frac{dx}{dt}-kx+a=0", "x'=kx-a", False),
    ("f", "my'+by=f", False),
    ("y'=2(t)", "y'=2t", True),
    (r"y'=\frac{1}{2}(t)", r"y'=\frac12", False),
    ("x_1'(t)=x_1(t)+x_{2}(t)", "x_1'=x_1+x_2", True),
    ("y''+y=0", "y'+y=0", False),
    ("y'=-y+1", "y'=-y", False),
    ("AB=CD", "CD=AB", True),
    ("AB=AC", "AB=CD", False),
    (r"\lfloor x \rfloor", r"\lceil x \rceil-1", False),
    (r"\lfloor n/2 \rfloor", r"\lceil (n-1)/2 \rceil", True),
    (r"\frac{(n+1)!}{(n-1)!}", "n(n+1)", False),  # still to be calculated
    (r"7.6 Z \text{ or so}", "7.6Z", False),
    ("5! 3!", "720", False),
]


@pytest.mark.parametrize(("answer", "gold", "is_met"), NEAR)
def test_what_is_near_a_gold_answer(answer: str, gold: str, is_met: bool) -> None:
    assert (grade(answer, gold) == "correct") is is_met
