from .family_density import FamilyDensity as FamilyDensity
